-- Which worker has a session's stateful servers. A lease lives as long as its worker's heartbeat: it is never renewed itself.

-- Every taking of a session gets a number that no earlier one had.
CREATE SEQUENCE "session_lease_fence" AS BIGINT;

CREATE TABLE "session_leases" (
    "principal" TEXT NOT NULL,
    "session_id" TEXT NOT NULL,
    "worker" TEXT NOT NULL,
    "fence" BIGINT NOT NULL,
    "leased_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "session_leases_pkey" PRIMARY KEY ("principal", "session_id")
);
CREATE INDEX "session_leases_worker_idx" ON "session_leases"("worker");

-- A process that takes no more work. Its row outlives it until its heartbeat expires, so that its queue is looked after.
ALTER TABLE "processes" ADD COLUMN "draining" BOOLEAN NOT NULL DEFAULT false;
