// SPDX-License-Identifier: Apache-2.0
package org.apache.cassandra.security;

import java.security.Permission;
import java.security.PermissionCollection;
import java.util.Collections;
import java.util.Enumeration;

/**
 * In place of Cassandra's class of this name, on JDK 24 and later: those have no security manager, so that Cassandra 5.0 ends at its
 * start. It guards functions that users define, of which the load has none.
 */
public final class ThreadAwareSecurityManager {
    public static final PermissionCollection noPermissions = new PermissionCollection() {
        @Override
        public void add(Permission permission) {
            throw new UnsupportedOperationException();
        }

        @Override
        public boolean implies(Permission permission) {
            return false;
        }

        @Override
        public Enumeration<Permission> elements() {
            return Collections.emptyEnumeration();
        }
    };

    private ThreadAwareSecurityManager() {}

    public static void install() {}

    public static boolean isSecuredThread() {
        return false;
    }
}
