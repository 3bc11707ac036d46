// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.ws.rs.DELETE;
import jakarta.ws.rs.GET;
import jakarta.ws.rs.POST;
import jakarta.ws.rs.PUT;
import jakarta.ws.rs.Path;
import jakarta.ws.rs.PathParam;
import jakarta.ws.rs.core.Context;
import jakarta.ws.rs.core.Request;
import jakarta.ws.rs.core.UriInfo;

/** Resources of JAX-RS, for any implementation. */
public class Resources {
    static String burn(String handler, UriInfo uri, Request request) {
        return Truth.burn(handler, request.getMethod(), uri.getRequestUri().getPath());
    }

    @Path("/direct")
    public static class Direct {
        @GET
        @Path("{id}")
        public String one(@PathParam("id") int id, @Context UriInfo uri, @Context Request request) {
            return burn("Direct.one", uri, request);
        }

        @DELETE
        public String all(@Context UriInfo uri, @Context Request request) {
            return burn("Direct.all", uri, request);
        }
    }

    @Path("/api")
    public interface Api {
        @GET
        @Path("{id}")
        String one(@PathParam("id") int id, @Context UriInfo uri, @Context Request request);
    }

    public static class ApiBean implements Api {
        @Override
        public String one(int id, UriInfo uri, Request request) {
            return burn("ApiBean.one", uri, request);
        }
    }

    public abstract static class Base {
        @POST
        @Path("{id}/parts")
        public abstract String add(@PathParam("id") int id, @Context UriInfo uri, @Context Request request);

        @GET
        @Path("kept/{id}")
        public String kept(@PathParam("id") int id, @Context UriInfo uri, @Context Request request) {
            return burn("Base.kept", uri, request);
        }
    }

    @Path("/sub")
    public static class Sub extends Base {
        @Override
        public String add(int id, UriInfo uri, Request request) {
            return burn("Sub.add", uri, request);
        }
    }

    @Path("/other")
    public static class Other extends Base {
        @Override
        public String add(int id, UriInfo uri, Request request) {
            return burn("Other.add", uri, request);
        }
    }

    public interface Crud<T> {
        @PUT
        @Path("{id}")
        String put(@PathParam("id") T id, @Context UriInfo uri, @Context Request request);
    }

    @Path("/crud")
    public static class CrudBean implements Crud<Integer> {
        @Override
        public String put(Integer id, UriInfo uri, Request request) {
            return burn("CrudBean.put", uri, request);
        }
    }

    @Path("/located")
    public static class Locator {
        @Path("{id}")
        public Item item() {
            return new Item();
        }
    }

    public static class Item {
        @GET
        @Path("item")
        public String one(@Context UriInfo uri, @Context Request request) {
            return burn("Item.one", uri, request);
        }
    }
}
