export const signInRequirements = {
  'sign-ins.held':
    'a held stream shows who has to sign in at which tool server and where, stays open, and goes on when that has happened, on any gateway',
  'sign-ins.returned':
    'a caller that is not held gets one call of sign_in_request for each call that waits for a sign-in, and any answer to it goes on with the call if the sign-in was made',
  'sign-ins.unmade':
    'a sign-in that was not made is asked for again three times; then, and when it is refused or too late, the tool fails with connection_needed and the model is told',
  'sign-ins.owner': 'nobody but the principal that signs in lets its calls run, and nobody is connected by an approval',
  'sign-ins.once': 'a call that waits for a sign-in runs once, however many sign-ins and refusals come at once',
  'sign-ins.approved-first':
    'a call that needs an approval and a sign-in waits for one after the other, and the audit names the approver',
  'sign-ins.tools-api':
    'a call of the tools API that needs a sign-in answers 202; the same request again runs it once the sign-in was made; a stream stays',
  'sign-ins.mcp':
    'an MCP client is asked to open the address of the sign-in if it can, in both eras; any other gets the address with the error',
  'sign-ins.reads':
    'a read of a resource or a prompt whose caller has to sign in asks the MCP client to open the address, in both eras; anybody else gets it in the error',
  'sign-ins.alone':
    'a detached run, and a call of the tools API with a key, goes on by itself after the sign-in, whichever process was killed meanwhile',
  'sign-ins.word-lost':
    'a gateway that missed the message that a call was parked finds that out, and does not count it as late',
  'sign-ins.whole':
    'a call that needs a sign-in runs with the own token of its user after it, from the address that the caller was given to the pages and the issuer, on every door',
  'sign-ins.killed':
    'a call that waits for a sign-in outlives the death of each process at every step, and every failure of the issuer: the address that its caller was given stays good; one that its worker had not parked yet ends as any call of a dead worker',
  'sign-ins.bounded': 'a server that refuses every sign-in is asked for no more than three of a call',
  'sign-ins.reserved': 'callers may not bring a tool that is called sign_in_request',
} as const;
