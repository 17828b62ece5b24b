-- The run that a run replays. NULL: the run is no replay.
ALTER TABLE "runs" ADD COLUMN "replay_of" TEXT;
