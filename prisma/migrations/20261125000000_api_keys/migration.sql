-- API keys. The key itself is nowhere: only its SHA-256, by which it is found.

CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "hash" TEXT NOT NULL,
    "prefix" TEXT NOT NULL,
    "owner" TEXT NOT NULL,
    "name" TEXT,
    "roles" TEXT[] NOT NULL,
    "scopes" TEXT[] NOT NULL,
    "models" TEXT[],
    "tools" JSONB NOT NULL DEFAULT '{}',
    "limits" JSONB NOT NULL DEFAULT '{}',
    "budgets" JSONB NOT NULL DEFAULT '{}',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "last_used_at" TIMESTAMPTZ(3),
    "revoked_at" TIMESTAMPTZ(3),
    "replaced_by" TEXT,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);
CREATE UNIQUE INDEX "api_keys_hash_key" ON "api_keys"("hash");

-- One row. Its number grows with every change of a key: gateways read it to see whether what they remember still holds.
-- The row lock orders the changes, so that a number that was read covers every change up to it.
CREATE TABLE "api_keys_revision" (
    "only" BOOLEAN NOT NULL DEFAULT true,
    "revision" BIGINT NOT NULL,

    CONSTRAINT "api_keys_revision_pkey" PRIMARY KEY ("only"),
    CONSTRAINT "api_keys_revision_only_check" CHECK ("only")
);
INSERT INTO "api_keys_revision" ("revision") VALUES (0);

CREATE FUNCTION "api_keys_changed"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE api_keys_revision SET revision = revision + 1;
    RETURN NULL;
END
$$;
-- Every column but last_used_at.
CREATE TRIGGER "api_keys_changed"
    AFTER INSERT OR DELETE OR UPDATE OF hash, owner, roles, scopes, models, tools, limits, budgets, expires_at, revoked_at
    ON "api_keys" FOR EACH STATEMENT EXECUTE FUNCTION "api_keys_changed"();
