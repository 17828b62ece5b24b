// Which names of members hold secrets: for what is written (audit, logs) and for what the console shows.

/** Matched against lower-case names without punctuation. */
const secretName =
  /passw|passphrase|secret|apikey|privatekey|accesskey|signingkey|encryptionkey|authori[sz]ation|credential|cookie|^(x?auth|pwd|pass|jwt|bearer)$|token$/;

export const isSecretName = (name: string): boolean => secretName.test(name.toLowerCase().replace(/[^a-z\d]/g, ''));
