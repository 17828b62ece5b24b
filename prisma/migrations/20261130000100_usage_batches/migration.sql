-- A gateway that does not know whether its usage was written writes it again, under the same id: it is counted once.
CREATE TABLE "usage_batches" (
    "id" UUID NOT NULL,
    "written_at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    CONSTRAINT "usage_batches_pkey" PRIMARY KEY ("id")
);
