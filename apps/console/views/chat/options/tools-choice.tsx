// The tools that the model may call in the next turn: by server and by tool, with what each costs. A new chat has none.
import type { Tool } from '@signalbox/client';
import { useId, useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { useStrings } from '../../../i18n/language.js';
import buttons from '../../../widgets/button.module.css';
import { Dialog, DialogActions } from '../../../widgets/dialog.js';
import { useFormats } from '../../../widgets/shown/formats.js';
import { Failure, Loading, Notice } from '../../../widgets/states.js';
import type { TurnOptions } from '../conversation/conversation.js';
import type { OpenChat } from '../store/open-chat.js';
import { useConversation } from '../store/use-chats.js';
import { useOfferableTools } from '../store/use-tools.js';
import { chatStrings } from '../strings.js';
import { ClientFunctions } from './client-functions.js';
import { ServerTools } from './server-tools.js';
import styles from './options.module.css';

export function ToolsChoice({ chat }: { chat: OpenChat }) {
  const texts = useStrings(chatStrings);
  const { options } = useConversation(chat);
  const { tools, error } = useOfferableTools();
  const formats = useFormats();
  const [isOpen, setOpen] = useState(false);
  const told = useId();
  const chosen = chosenOf(options, tools ?? []);
  const count = Object.values(options.tools).flat().length + options.functions.length;
  const tokens = chosen.reduce((sum, tool) => sum + tool.tokens, 0);
  const state = count === 0 ? texts.toolsOff : texts.toolsOn(count, formats.number(tokens));
  return (
    <>
      <Button
        className={`${buttons.button} ${buttons.quiet} ${count > 0 ? styles.isSet : ''}`}
        aria-describedby={told}
        onPress={() => setOpen(true)}
      >
        {texts.tools}
      </Button>
      <span className={styles.count} aria-hidden="true">
        {count === 0 ? texts.toolsOff : count}
      </span>
      <span id={told} hidden>
        {state}
      </span>
      <Dialog heading={texts.tools} isOpen={isOpen} onClose={() => setOpen(false)} isWide>
        <p className={styles.about}>{texts.toolsAbout}</p>
        {tools === undefined && (error === null ? <Loading /> : <Failure error={error} />)}
        {tools?.length === 0 && <Notice text={texts.noTools} />}
        <div className={styles.servers}>
          {[...byServer(tools ?? [], options)].map(([server, each]) => (
            <ServerTools
              key={server}
              server={server}
              tools={each}
              options={options}
              onChange={(next) => chat.setOptions(next)}
            />
          ))}
        </div>
        <ClientFunctions chat={chat} />
        <DialogActions>
          <span className={styles.sum}>{state}</span>
          <Button className={`${buttons.button} ${buttons.primary}`} onPress={() => setOpen(false)}>
            {texts.done}
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}

const chosenOf = ({ tools: chosen }: TurnOptions, tools: readonly Tool[]): readonly Tool[] =>
  tools.filter(({ server, function: { name } }) => chosen[server]?.includes(name) === true);

/** Servers that are gone stay listed while something of them is chosen. */
function byServer(tools: readonly Tool[], { tools: chosen }: TurnOptions): Map<string, Tool[]> {
  const servers = new Map<string, Tool[]>();
  for (const tool of tools) servers.set(tool.server, [...(servers.get(tool.server) ?? []), tool]);
  for (const [server, names] of Object.entries(chosen)) {
    if (names.length > 0 && !servers.has(server)) servers.set(server, []);
  }
  return servers;
}
