-- The knowledge base: documents in passages, their words and, where there is a model for it, their embeddings.
-- Needs no extension: text search and bit_count are in every PostgreSQL from 14 on.

CREATE TABLE "knowledge_documents" (
    "id" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "category" TEXT NOT NULL,
    "date" TIMESTAMPTZ(3) NOT NULL,
    "url" TEXT,
    "content_hash" TEXT NOT NULL,
    "imported_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "knowledge_documents_pkey" PRIMARY KEY ("id")
);
CREATE INDEX "knowledge_documents_source_idx" ON "knowledge_documents"("source");
CREATE INDEX "knowledge_documents_category_idx" ON "knowledge_documents"("category");
CREATE INDEX "knowledge_documents_date_idx" ON "knowledge_documents"("date");

CREATE TABLE "knowledge_passages" (
    "id" BIGINT GENERATED ALWAYS AS IDENTITY NOT NULL,
    "document_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "text" TEXT NOT NULL,
    "search" TSVECTOR NOT NULL,

    CONSTRAINT "knowledge_passages_pkey" PRIMARY KEY ("id"),
    -- Deferred: a statement that replaces a document's passages adds the new ones before the old ones are gone.
    CONSTRAINT "knowledge_passages_document_id_position_key" UNIQUE ("document_id", "position")
        DEFERRABLE INITIALLY DEFERRED,
    CONSTRAINT "knowledge_passages_document_id_fkey" FOREIGN KEY ("document_id")
        REFERENCES "knowledge_documents"("id") ON DELETE CASCADE
);
-- Without a list of pending entries, which every search would read through after an import.
CREATE INDEX "knowledge_passages_search_idx" ON "knowledge_passages" USING GIN ("search") WITH (fastupdate = off);
-- Ranking reads "search" many times a query: it stays in the row, as it is.
ALTER TABLE "knowledge_passages" SET (toast_tuple_target = 8160);
ALTER TABLE "knowledge_passages" ALTER COLUMN "search" SET STORAGE MAIN;

-- In how many passages a word is; '' has the number of all passages. Written at the end of an import.
CREATE TABLE "knowledge_terms" (
    "term" TEXT COLLATE "C" NOT NULL,
    "passages" INTEGER NOT NULL,

    CONSTRAINT "knowledge_terms_pkey" PRIMARY KEY ("term")
);

-- A bit for each number of an embedding, set where it is above 0. A search reads all of them, so they have rows to themselves.
CREATE TABLE "knowledge_signs" (
    "passage_id" BIGINT NOT NULL,
    "model" TEXT NOT NULL,
    "signs" BIT VARYING NOT NULL,

    CONSTRAINT "knowledge_signs_pkey" PRIMARY KEY ("passage_id", "model"),
    CONSTRAINT "knowledge_signs_passage_id_fkey" FOREIGN KEY ("passage_id")
        REFERENCES "knowledge_passages"("id") ON DELETE CASCADE
);

-- The numbers of an embedding as bytes from -127 to 127.
CREATE TABLE "knowledge_vectors" (
    "passage_id" BIGINT NOT NULL,
    "model" TEXT NOT NULL,
    "vector" BYTEA NOT NULL,

    CONSTRAINT "knowledge_vectors_pkey" PRIMARY KEY ("passage_id", "model"),
    CONSTRAINT "knowledge_vectors_passage_id_fkey" FOREIGN KEY ("passage_id")
        REFERENCES "knowledge_passages"("id") ON DELETE CASCADE
);
ALTER TABLE "knowledge_vectors" ALTER COLUMN "vector" SET STORAGE EXTERNAL;
