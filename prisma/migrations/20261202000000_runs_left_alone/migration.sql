-- Detached runs whose gateway is gone go on by themselves: gateways look for them all the time, and give one up that has ended
-- several of them.
ALTER TABLE "runs" ADD COLUMN "adoptions" SMALLINT NOT NULL DEFAULT 0;
CREATE INDEX "runs_left_alone_idx" ON "runs"("ended_at") WHERE "state" = 'interrupted' AND "detached";
