-- The catalog, one row a tool: what was approved is offered, what has changed since waits beside it. Servers that are no
-- longer configured stay, since what was approved of them still counts when they come back. Workers fill it when they start.

ALTER TABLE "catalog_servers" DROP COLUMN "tools";
ALTER TABLE "catalog_servers" ADD COLUMN "configured" BOOLEAN NOT NULL DEFAULT true;
-- Grows with every change of what is offered.
ALTER TABLE "catalog_servers" ADD COLUMN "revision" BIGINT NOT NULL DEFAULT 0;
-- Until then whatever the server lists is seen for the first time.
ALTER TABLE "catalog_servers" ADD COLUMN "first_listed_at" TIMESTAMPTZ(3);

CREATE TABLE "catalog_tools" (
    "server" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "definition" JSON,
    "definition_hash" TEXT,
    "approved_at" TIMESTAMPTZ(3),
    "published" JSON,
    "published_hash" TEXT,
    "listed" BOOLEAN NOT NULL DEFAULT true,
    "change" TEXT,
    "decision" TEXT,
    "held_definition" JSON,
    "held_hash" TEXT,
    "held_published" JSON,
    "held_published_hash" TEXT,
    "changed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "catalog_tools_pkey" PRIMARY KEY ("server", "tool"),
    CONSTRAINT "catalog_tools_server_fkey" FOREIGN KEY ("server") REFERENCES "catalog_servers"("server") ON DELETE CASCADE ON UPDATE CASCADE,
    CONSTRAINT "catalog_tools_change_check" CHECK ("change" IN ('cosmetic', 'wording', 'contract', 'new', 'removed')),
    CONSTRAINT "catalog_tools_decision_check" CHECK ("decision" IN ('pending', 'rejected')),
    CONSTRAINT "catalog_tools_held_check" CHECK (("change" IS NULL) = ("decision" IS NULL))
);
CREATE INDEX "catalog_tools_server_position_idx" ON "catalog_tools"("server", "position", "tool") WHERE "published" IS NOT NULL;
CREATE INDEX "catalog_tools_server_definition_hash_idx" ON "catalog_tools"("server", "definition_hash");
CREATE INDEX "catalog_tools_held_idx" ON "catalog_tools"("server", "tool") WHERE "change" IS NOT NULL;
