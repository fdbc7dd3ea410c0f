# The product: one image for the three services and the one-shots. Node runs the TypeScript as it is, so nothing is built.
FROM node:24.22.3-slim
WORKDIR /app
COPY package.json package-lock.json .npmrc ./
# Node itself comes with the base; the packages that bring it to a bare machine are left out.
RUN npm ci --omit=dev --omit=optional
COPY appliance.yml ./
COPY nginx nginx
COPY sql sql
COPY scripts scripts
COPY services services
# A clone may be closed to everybody but its owner; here other users read it.
RUN chmod -R a+rX appliance.yml nginx sql scripts services
# Users are given by compose.yaml, by number: each service its own.
USER 65534:65534
CMD ["node", "scripts/cli/main.ts", "--help"]
