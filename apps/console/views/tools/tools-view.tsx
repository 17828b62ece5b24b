// The tools that the caller may call; for administrators also their servers, and definitions that have changed.
import { useMay } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import { useFilters } from '../../widgets/lists/filters.js';
import { Page } from '../../widgets/page.js';
import { Tabs } from '../../widgets/tabs.js';
import { ToolChanges } from './servers/tool-changes.js';
import { ToolServers } from './servers/tool-servers.js';
import { toolsStrings } from './strings.js';
import { ToolList } from './tool-list.js';

export default function ToolsView() {
  const texts = useStrings(toolsStrings);
  const isAdmin = useMay('admin') === true;
  const [{ tab }, change] = useFilters(['tab', 'tool']);
  return (
    <Page title={texts.title}>
      {isAdmin ? (
        <Tabs
          label={texts.parts}
          tabs={[
            { id: 'tools', title: texts.tools, content: <ToolList /> },
            { id: 'servers', title: texts.servers, content: <ToolServers /> },
            { id: 'changes', title: texts.changes, content: <ToolChanges /> },
          ]}
          chosen={tab}
          onChoose={(next) => change({ tab: next === 'tools' ? undefined : next, tool: undefined })}
        />
      ) : (
        <ToolList />
      )}
    </Page>
  );
}
