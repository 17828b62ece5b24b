// The tools of one server, to choose from.
import type { Tool } from '@signalbox/client';
import { useStrings } from '../../../i18n/language.js';
import { Badge } from '../../../widgets/shown/badge.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { visibleText } from '../../../widgets/shown/visible-text.js';
import type { TurnOptions } from '../conversation/conversation.js';
import { chatStrings } from '../strings.js';
import styles from './options.module.css';

export interface ServerToolsProps {
  server: string;
  tools: readonly Tool[];
  options: TurnOptions;
  onChange: (options: TurnOptions) => void;
}

export function ServerTools({ server, tools, options, onChange }: ServerToolsProps) {
  const texts = useStrings(chatStrings);
  const formats = useFormats();
  const chosen = options.tools[server] ?? [];
  const names = tools.map((tool) => tool.function.name);
  const tokens = tools.reduce((sum, tool) => sum + tool.tokens, 0);
  const choose = (next: string[]) => onChange({ ...options, tools: { ...options.tools, [server]: next } });
  const isAll = names.length > 0 && names.every((name) => chosen.includes(name));
  // The gateway refuses a request that names them.
  const gone = chosen.filter((name) => !names.includes(name));
  return (
    <fieldset className={styles.server}>
      <legend className={styles.serverHead}>
        <label className={styles.check}>
          <input
            type="checkbox"
            checked={isAll}
            ref={(box) => {
              if (box !== null) box.indeterminate = !isAll && chosen.length > 0;
            }}
            onChange={({ target }) => choose(target.checked ? names : [])}
          />
          <strong>{visibleText(server)}</strong>
        </label>
        <span className={styles.tokens}>{texts.toolsTokens(formats.number(tokens))}</span>
      </legend>
      <ul className={styles.tools}>
        {tools.map((tool) => (
          <ToolRow key={tool.function.name} {...{ tool, options, chosen, choose, onChange }} />
        ))}
        {gone.map((name) => (
          <li key={name} className={styles.tool}>
            <label className={styles.check}>
              <input type="checkbox" checked onChange={() => choose(chosen.filter((each) => each !== name))} />
              <code>{visibleText(name)}</code>
            </label>
            <Badge tone="bad">{texts.gone}</Badge>
          </li>
        ))}
      </ul>
    </fieldset>
  );
}

interface ToolRowProps {
  tool: Tool;
  options: TurnOptions;
  chosen: readonly string[];
  choose: (names: string[]) => void;
  onChange: (options: TurnOptions) => void;
}

function ToolRow({ tool, options, chosen, choose, onChange }: ToolRowProps) {
  const texts = useStrings(chatStrings);
  const formats = useFormats();
  const { name, description } = tool.function;
  const path = `${tool.server}/${name}`;
  const isChosen = chosen.includes(name);
  const asks = options.asks.includes(path);
  const others = options.asks.filter((each) => each !== path);
  return (
    <li className={styles.tool}>
      <label className={styles.check}>
        <input
          type="checkbox"
          checked={isChosen}
          onChange={({ target }) => choose(target.checked ? [...chosen, name] : chosen.filter((each) => each !== name))}
        />
        <code>{visibleText(name)}</code>
      </label>
      <span className={styles.tokens}>{texts.toolsTokens(formats.number(tool.tokens))}</span>
      <p className={styles.description}>{visibleText(description.slice(0, 300))}</p>
      <span className={styles.marks}>
        {!tool.available && <Badge tone="bad">{texts.unavailable}</Badge>}
        {tool.requires_approval ? (
          <Badge tone="warn">{texts.asksAnyway}</Badge>
        ) : (
          isChosen && (
            <label className={styles.check}>
              <input
                type="checkbox"
                aria-label={texts.askFirstOf(name)}
                checked={asks}
                onChange={({ target }) => onChange({ ...options, asks: target.checked ? [...others, path] : others })}
              />
              {texts.askFirst}
            </label>
          )
        )}
      </span>
    </li>
  );
}
