-- What callers used, by day (UTC). A gateway adds to the rows of its shard, so that gateways do not wait for each other.
CREATE TABLE "usage_days" (
    "day" DATE NOT NULL,
    "key_id" TEXT NOT NULL,
    "principal" TEXT NOT NULL,
    "model" TEXT NOT NULL,
    "tool" TEXT NOT NULL,
    "shard" SMALLINT NOT NULL,
    "requests" BIGINT NOT NULL,
    "calls" BIGINT NOT NULL,
    "prompt_tokens" BIGINT NOT NULL,
    "completion_tokens" BIGINT NOT NULL,
    "cost_nano_usd" BIGINT NOT NULL,

    CONSTRAINT "usage_days_pkey" PRIMARY KEY ("key_id", "principal", "day", "model", "tool", "shard")
) WITH (fillfactor = 50);

CREATE INDEX "usage_days_day_idx" ON "usage_days"("day");

-- A budget goes on with the key that replaces another.
CREATE INDEX "api_keys_replaced_by_idx" ON "api_keys"("replaced_by");
