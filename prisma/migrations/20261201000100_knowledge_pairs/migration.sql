-- Pairs of neighbouring words of each passage, as numbers: an exact text of words that are in half of all passages, or in no
-- index (of, the), is found by its pairs. In rows of their own, since only exact searches read them.

CREATE TABLE "knowledge_pairs" (
    "passage_id" BIGINT NOT NULL,
    "pairs" INTEGER[] NOT NULL,

    CONSTRAINT "knowledge_pairs_pkey" PRIMARY KEY ("passage_id"),
    CONSTRAINT "knowledge_pairs_passage_id_fkey" FOREIGN KEY ("passage_id")
        REFERENCES "knowledge_passages"("id") ON DELETE CASCADE
);
-- Without a list of pending entries, which every search would read through after an import.
CREATE INDEX "knowledge_pairs_pairs_idx" ON "knowledge_pairs" USING GIN ("pairs") WITH (fastupdate = off);
