-- What tool servers offer besides tools (resources, prompts, instructions): one document a server, which gateways read whole.
CREATE TABLE "catalog_offers" (
    "server" TEXT NOT NULL,
    "offers" JSON NOT NULL,
    "hash" TEXT NOT NULL,
    CONSTRAINT "catalog_offers_pkey" PRIMARY KEY ("server")
);
ALTER TABLE "catalog_offers" ADD CONSTRAINT "catalog_offers_server_fkey" FOREIGN KEY ("server")
  REFERENCES "catalog_servers"("server") ON DELETE CASCADE ON UPDATE CASCADE;
