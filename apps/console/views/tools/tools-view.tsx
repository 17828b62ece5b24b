// The tools that the caller may call, and the resources and prompts that it may use; for administrators also their servers, and definitions that have changed.
import { useMay } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { Page } from '../../widgets/page.js';
import { Tabs } from '../../widgets/tabs.js';
import { offerStrings } from './offers/offer-strings.js';
import { PromptList } from './offers/prompt-list.js';
import { ResourceList } from './offers/resource-list.js';
import { ToolChanges } from './servers/tool-changes.js';
import { ToolServers } from './servers/tool-servers.js';
import { toolsStrings } from './strings.js';
import { ToolList } from './tool-list.js';

/** Each part has filters of its own. */
const noFilters = {
  text: undefined,
  server: undefined,
  toolset: undefined,
  tool: undefined,
  resource: undefined,
  prompt: undefined,
};

export default function ToolsView() {
  const texts = useStrings(toolsStrings);
  const words = useStrings(offerStrings);
  const isAdmin = useMay('admin') === true;
  const [{ tab }, change] = useFilters(['tab', 'text', 'server', 'toolset', 'tool', 'resource', 'prompt']);
  return (
    <Page title={texts.title}>
      <Tabs
        label={texts.parts}
        tabs={[
          { id: 'tools', title: texts.tools, content: <ToolList /> },
          { id: 'resources', title: words.resources, content: <ResourceList /> },
          { id: 'prompts', title: words.prompts, content: <PromptList /> },
          ...(isAdmin
            ? [
                { id: 'servers', title: texts.servers, content: <ToolServers /> },
                { id: 'changes', title: texts.changes, content: <ToolChanges /> },
              ]
            : []),
        ]}
        chosen={tab}
        onChoose={(next) => change({ ...noFilters, tab: next === 'tools' ? undefined : next })}
      />
    </Page>
  );
}
