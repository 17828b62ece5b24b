-- Since when the server of a connection is configured no more. Null while it is.
ALTER TABLE "connections" ADD COLUMN "unused_since" TIMESTAMPTZ(3);
