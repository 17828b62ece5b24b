-- What workers sign statements about callers with, for tool servers (`identity: jwt`). The public halves are at
-- /.well-known/jwks.json. A key signs for a week, and is removed two days later.
CREATE TABLE "identity_keys" (
    "id" UUID NOT NULL,
    "private_jwk" TEXT NOT NULL,
    "made_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "identity_keys_pkey" PRIMARY KEY ("id")
);
