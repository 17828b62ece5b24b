-- Tokens of models that had no price when they were counted: what they cost is not known, and not in the cost.
ALTER TABLE "usage_days" ADD COLUMN "unpriced_tokens" BIGINT NOT NULL DEFAULT 0;
