-- Pinned definitions of prompts, with the columns that those of tools have. The row without a name has the instructions of the server.
CREATE TABLE "catalog_prompts" (LIKE "catalog_tools" INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING INDEXES);
ALTER TABLE "catalog_prompts" ADD CONSTRAINT "catalog_prompts_server_fkey" FOREIGN KEY ("server")
  REFERENCES "catalog_servers"("server") ON DELETE CASCADE ON UPDATE CASCADE;
