-- What workers sign call tokens with, and gateways check them by. A key signs for a day, and is removed two days later.
CREATE TABLE "call_token_keys" (
    "id" UUID NOT NULL,
    "secret" TEXT NOT NULL,
    "made_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "call_token_keys_pkey" PRIMARY KEY ("id")
);
