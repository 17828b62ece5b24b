/** How long a sign-in may take, from its beginning to what the issuer sends back. */
export const flowMs = 600_000;
