// SPDX-License-Identifier: Apache-2.0
package shop;

import io.grpc.Context;
import io.grpc.Contexts;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Server;
import io.grpc.ServerCall;
import io.grpc.ServerCallHandler;
import io.grpc.ServerInterceptor;
import io.grpc.channelz.v1.ChannelzGrpc;
import io.grpc.channelz.v1.GetServerRequest;
import io.grpc.channelz.v1.GetServerResponse;
import io.grpc.channelz.v1.GetServersRequest;
import io.grpc.channelz.v1.GetServersResponse;
import io.grpc.health.v1.HealthCheckRequest;
import io.grpc.health.v1.HealthCheckResponse;
import io.grpc.health.v1.HealthGrpc;
import io.grpc.netty.shaded.io.grpc.netty.NettyChannelBuilder;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.stub.StreamObserver;
import java.net.InetSocketAddress;

/** Services of gRPC, and clients of them. */
public class GrpcService {
    static final Context.Key<String> METHOD = Context.key("method");

    /** Keeps the name of the method that a client has called. */
    static class Names implements ServerInterceptor {
        @Override
        public <A, B> ServerCall.Listener<A> interceptCall(ServerCall<A, B> call, Metadata headers, ServerCallHandler<A, B> next) {
            Context context = Context.current().withValue(METHOD, call.getMethodDescriptor().getFullMethodName());

            return Contexts.interceptCall(context, call, headers, next);
        }
    }

    static class Checks extends HealthGrpc.HealthImplBase {
        @Override
        public void check(HealthCheckRequest request, StreamObserver<HealthCheckResponse> answer) {
            Truth.burn("Checks.check", METHOD.get());
            answer.onNext(HealthCheckResponse.getDefaultInstance());
            answer.onCompleted();
        }

        @Override
        public void watch(HealthCheckRequest request, StreamObserver<HealthCheckResponse> answer) {
            Truth.burn("Checks.watch", METHOD.get());
            answer.onNext(HealthCheckResponse.getDefaultInstance());
            answer.onCompleted();
        }
    }

    abstract static class Counted extends ChannelzGrpc.ChannelzImplBase {}

    static class Servers extends Counted {
        @Override
        public void getServers(GetServersRequest request, StreamObserver<GetServersResponse> answer) {
            Truth.burn("Servers.getServers", METHOD.get());
            answer.onNext(GetServersResponse.getDefaultInstance());
            answer.onCompleted();
        }

        @Override
        public void getServer(GetServerRequest request, StreamObserver<GetServerResponse> answer) {
            Truth.burn("Servers.getServer", METHOD.get());
            answer.onNext(GetServerResponse.getDefaultInstance());
            answer.onCompleted();
        }
    }

    public static void main(String[] args) throws Exception {
        Server server = NettyServerBuilder.forAddress(new InetSocketAddress("127.0.0.1", 0)).intercept(new Names()).addService(new Checks())
            .addService(new Servers()).build().start();
        ManagedChannel channel = NettyChannelBuilder.forAddress("127.0.0.1", server.getPort()).usePlaintext().build();

        System.out.println("listens");
        for (;;) {
            HealthGrpc.newBlockingStub(channel).check(HealthCheckRequest.getDefaultInstance());
            HealthGrpc.newBlockingStub(channel).watch(HealthCheckRequest.getDefaultInstance()).forEachRemaining(x -> {});
            ChannelzGrpc.newBlockingStub(channel).getServers(GetServersRequest.getDefaultInstance());
            ChannelzGrpc.newBlockingStub(channel).getServer(GetServerRequest.getDefaultInstance());
        }
    }
}
