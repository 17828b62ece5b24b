// Where the page and its gateway are. The gateway writes the way to /console/ into the page's <base>.

/** The path of the console, without a slash at the end: `/console`, or more behind a proxy. */
export const consolePath = new URL(document.baseURI).pathname.replace(/\/$/, '');

/** The gateway's address, without a slash at the end. */
export const gatewayUrl = new URL('..', document.baseURI).href.replace(/\/$/, '');
