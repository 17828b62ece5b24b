# One image for every process of Signalbox: the command says which (gateway is the default).
# Runs as uid 1000 on a read-only root; it writes to /mcp_workspaces, /var/lib/signalbox and /tmp only.
ARG NODE_IMAGE=node:24.21-bookworm-slim

FROM ${NODE_IMAGE} AS build
# For the launcher of tool servers, which is linked statically: each platform of the image compiles its own.
RUN apt-get update \
  && apt-get install --yes --no-install-recommends gcc libc6-dev \
  && rm -rf /var/lib/apt/lists/*
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Without scripts: `prepare` would build what is not there yet.
RUN npm ci --ignore-scripts
COPY . .
# Readable by the user of the image, whatever the umask was that the sources were checked out under.
RUN npm run build && chmod -R a+rX prisma/migrations dist config scripts
RUN test -x dist/launcher-* && find dist -name '*.map' -delete -o -name '*.tsbuildinfo' -delete

FROM ${NODE_IMAGE} AS dependencies
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# The optional packages are the embedded PostgreSQL of `npm start`: here the database is a service of its own. Of Prisma's
# query compilers, which are most of what would be installed, stays the one that the generated client imports.
RUN npm ci --omit=dev --omit=optional --ignore-scripts \
  && find node_modules/@prisma/client/runtime -type f \
    ! -name 'client.*' ! -name 'query_compiler_small_bg.postgresql.*' -delete \
  && find node_modules -type f -name '*.map' -delete
# What is left describes the image: with it `npm install PACKAGE` adds a package and nothing else.
RUN npm pkg delete devDependencies optionalDependencies scripts.prepare && rm package-lock.json
# Programs for tool servers, as `npm install` takes them: --build-arg TOOL_PACKAGES="package@version …".
ARG TOOL_PACKAGES=
RUN [ -z "${TOOL_PACKAGES}" ] || npm install --ignore-scripts --omit=dev ${TOOL_PACKAGES}
RUN chmod -R a+rX package.json node_modules

FROM ${NODE_IMAGE} AS signalbox
RUN install --directory --owner=1000 --group=1000 --mode=0700 \
    /mcp_workspaces /var/lib/signalbox /prepared \
  && ln -s /app/scripts/signalbox.mjs /usr/local/bin/signalbox
WORKDIR /app
COPY --from=dependencies /app/package.json ./
COPY --from=dependencies /app/node_modules ./node_modules
COPY --from=build /app/prisma/migrations ./prisma/migrations
COPY --from=build /app/config ./config
COPY --from=build /app/scripts/make-secrets.mjs /app/scripts/signalbox.mjs ./scripts/
COPY --from=build /app/scripts/containers ./scripts/containers
COPY --from=build /app/dist ./dist
ENV NODE_ENV=production \
    HOST=0.0.0.0 \
    DATA_DIR=/var/lib/signalbox \
    WORKSPACES_DIR=/mcp_workspaces
USER 1000:1000
EXPOSE 8000 8001 8002
STOPSIGNAL SIGTERM
HEALTHCHECK --interval=10s --timeout=5s --start-period=60s --retries=3 CMD ["node", "dist/scripts/check-health.js", "gateway"]
CMD ["node", "dist/apps/gateway/main.js"]
