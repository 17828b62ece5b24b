// One tool: what it says of itself, what it costs, and a form to call it. Descriptions come from tool servers: they are text.
import type { Tool } from '@signalbox/client';
import type { ReactNode } from 'react';
import { useStrings } from '../../i18n/language.js';
import { Badge } from '../../widgets/shown/badge.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { JsonView } from '../../widgets/shown/json-view.js';
import { LongText } from '../../widgets/shown/long-text.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import { CallForm } from './call/call-form.js';
import { toolsStrings } from './strings.js';
import { VerdictBadge } from './verdict.js';
import styles from './tools.module.css';

export function ToolDetail({ tool }: { tool: Tool }) {
  const texts = useStrings(toolsStrings);
  const formats = useFormats();
  const { annotations, last_30_days: used } = tool;
  return (
    <div className={styles.detail}>
      <p className={styles.badges}>
        <Badge>{visibleText(tool.server)}</Badge>
        <VerdictBadge tool={tool} />
        {!tool.available && <Badge tone="bad">{texts.unavailable}</Badge>}
        {annotations['readOnlyHint'] === true && <Badge tone="good">{texts.readOnly}</Badge>}
        {annotations['readOnlyHint'] === false && <Badge>{texts.changesThings}</Badge>}
        {annotations['destructiveHint'] === true && <Badge tone="warn">{texts.destructive}</Badge>}
        {annotations['idempotentHint'] === true && <Badge>{texts.idempotent}</Badge>}
        {annotations['openWorldHint'] === true && <Badge tone="warn">{texts.openWorld}</Badge>}
      </p>
      {tool.title !== undefined && <h3>{visibleText(tool.title)}</h3>}
      <LongText text={tool.function.description} />
      <p className={styles.soft}>
        {texts.tokensOf(formats.number(tool.tokens))}
        {used !== undefined && ` · ${texts.callsOf(formats.number(used.calls), formats.number(used.failures))}`}
      </p>
      <CallForm tool={tool} />
      <Folded name={texts.schema}>
        <JsonView value={tool.function.parameters} />
      </Folded>
      {tool.output_schema !== undefined && (
        <Folded name={texts.outputSchema}>
          <JsonView value={tool.output_schema} />
        </Folded>
      )}
    </div>
  );
}

function Folded({ name, children }: { name: string; children: ReactNode }) {
  return (
    <details className={styles.folded}>
      <summary>{name}</summary>
      {children}
    </details>
  );
}
