-- Connections of users to tool servers: what they signed in to, with their tokens sealed under the key of the vault. Those of the
-- gateway itself have no principal. The lease lets one process refresh; the version tells the others that it has.
CREATE TABLE "connections" (
    "principal" TEXT NOT NULL,
    "server" TEXT NOT NULL,
    "issuer" TEXT NOT NULL,
    "resource" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "sealed" TEXT,
    "scopes" TEXT[] NOT NULL DEFAULT '{}',
    "wanted_scopes" TEXT[] NOT NULL DEFAULT '{}',
    "account" TEXT,
    "connected_at" TIMESTAMPTZ(3),
    "expires_at" TIMESTAMPTZ(3),
    "refresh_holder" TEXT,
    "refresh_until" TIMESTAMPTZ(3),
    "version" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "connections_pkey" PRIMARY KEY ("principal", "server"),
    CONSTRAINT "connections_state_check" CHECK ("state" IN ('connected', 'expired', 'error'))
);
CREATE INDEX "connections_server_state_idx" ON "connections" ("server", "state");

-- Sign-ins under way. The state that the browser brings back is kept as its hash, and works once.
CREATE TABLE "connection_flows" (
    "id" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "server" TEXT NOT NULL,
    "return_to" TEXT,
    "state_hash" TEXT,
    "sealed" TEXT,
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "connection_flows_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "connection_flows_state_hash_key" ON "connection_flows" ("state_hash");
CREATE INDEX "connection_flows_expires_at_idx" ON "connection_flows" ("expires_at");

-- The gateway as issuers have registered it, by the address that people are sent back to.
CREATE TABLE "connection_clients" (
    "issuer" TEXT NOT NULL,
    "redirect_uri" TEXT NOT NULL,
    "sealed" TEXT NOT NULL,
    "expires_at" TIMESTAMPTZ(3),

    CONSTRAINT "connection_clients_pkey" PRIMARY KEY ("issuer", "redirect_uri")
);
