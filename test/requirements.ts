// What must hold, as data: id → sentence. A test says which it proves through `verifies`; requirements.test.ts fails
// when an id has no test or a test names no id. The README's claims come from here.
import { accessRequirements } from './requirements/access.js';
import { auditRequirements } from './requirements/audit.js';
import { chimechAnalyzeRequirements } from './requirements/chimech-analyze.js';
import { chatRequirements } from './requirements/chat.js';
import { chimechRequirements } from './requirements/chimech.js';
import { clientRequirements } from './requirements/client.js';
import { connectionRequirements } from './requirements/connections.js';
import { consoleChatRequirements } from './requirements/console-chat.js';
import { consoleRequirements } from './requirements/console.js';
import { consoleKeysRequirements } from './requirements/console-keys.js';
import { consoleWorkRequirements } from './requirements/console-work.js';
import { deploymentRequirements } from './requirements/deployment.js';
import { chatApisRequirements } from './requirements/chat-apis.js';
import { identityRequirements } from './requirements/identity.js';
import { limitsRequirements } from './requirements/limits.js';
import { knowledgeRequirements } from './requirements/knowledge.js';
import { mcpRequirements } from './requirements/mcp.js';
import { docsRequirements } from './requirements/docs.js';
import { modelRequirements } from './requirements/models.js';
import { openapiRequirements } from './requirements/openapi.js';
import { operationsRequirements } from './requirements/operations.js';
import { approvalRequirements } from './requirements/approvals.js';
import { questionRequirements } from './requirements/questions.js';
import { policyRequirements } from './requirements/policy.js';
import { reliabilityRequirements } from './requirements/reliability.js';
import { replayRequirements } from './requirements/replay.js';
import { runListingRequirements } from './requirements/run-listing.js';
import { signInRequirements } from './requirements/sign-ins.js';
import { toolRequirements } from './requirements/tools.js';
import { toolsetRequirements } from './requirements/toolsets.js';

export const requirements = {
  ...accessRequirements,
  ...auditRequirements,
  ...chatRequirements,
  ...chimechRequirements,
  ...clientRequirements,
  ...connectionRequirements,
  ...consoleChatRequirements,
  ...consoleRequirements,
  ...consoleKeysRequirements,
  ...consoleWorkRequirements,
  ...deploymentRequirements,
  ...docsRequirements,
  ...chatApisRequirements,
  ...identityRequirements,
  ...limitsRequirements,
  ...chimechAnalyzeRequirements,
  ...knowledgeRequirements,
  ...mcpRequirements,
  ...modelRequirements,
  ...openapiRequirements,
  ...operationsRequirements,
  ...approvalRequirements,
  ...questionRequirements,
  ...policyRequirements,
  ...reliabilityRequirements,
  ...replayRequirements,
  ...runListingRequirements,
  ...signInRequirements,
  ...toolRequirements,
  ...toolsetRequirements,
} as const;

export type RequirementId = keyof typeof requirements;
