// Rotates and revokes a key, after asking and saying what that stops.
import type { ListedKey } from '@signalbox/client';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { Button } from 'react-aria-components/Button';
import { api } from '../../api/api.js';
import { useMe } from '../../api/me.js';
import { useStrings } from '../../i18n/language.js';
import buttons from '../../widgets/button.module.css';
import { ConfirmDialog, Dialog, DialogActions } from '../../widgets/dialog.js';
import { Labelled } from '../../widgets/forms/labelled.js';
import fields from '../../widgets/forms/schema-form.module.css';
import { notify, notifyFailure } from '../../widgets/notices.js';
import { useFormats } from '../../widgets/shown/formats.js';
import { visibleText } from '../../widgets/shown/visible-text.js';
import type { NewlyMade } from './made-key.js';
import { keysStrings } from './strings.js';
import styles from './keys.module.css';

const hourSeconds = 3_600;
const mostCounted = 100;

export interface ChangeKeyProps {
  row: ListedKey;
  onMade: (shown: NewlyMade) => void;
}

export function RotateKey({ row, onMade }: ChangeKeyProps) {
  const texts = useStrings(keysStrings);
  const me = useMe();
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [graceSeconds, setGrace] = useState(hourSeconds);
  // The answer has the key itself, so it passes no cache.
  async function rotate() {
    setBusy(true);
    try {
      const made = await api.operations.rotateKey(row.id, { graceSeconds });
      setAsking(false);
      onMade({ made, isNeeded: me?.key?.id === row.id, graceSeconds });
      // With its own key gone the page would be refused: it asks again when the new key was seen.
      if (me?.key?.id !== row.id) void queries.invalidateQueries({ queryKey: ['keys'] });
    } catch (error) {
      notifyFailure(error);
    } finally {
      setBusy(false);
    }
  }
  const graces = [
    [0, texts.graceNone],
    [hourSeconds, texts.graceHour],
    [24 * hourSeconds, texts.graceDay],
    [7 * 24 * hourSeconds, texts.graceWeek],
  ] as const;
  return (
    <>
      <Button className={buttons.button} onPress={() => setAsking(true)}>
        {texts.rotate}
      </Button>
      <Dialog heading={texts.rotateHeading(visibleText(row.owner))} isOpen={isAsking} onClose={() => setAsking(false)}>
        <p>{texts.rotateText}</p>
        <Labelled label={texts.grace}>
          {(field) => (
            <select
              {...field}
              className={fields.input}
              value={graceSeconds}
              onChange={({ target }) => setGrace(Number(target.value))}
            >
              {graces.map(([seconds, title]) => (
                <option key={seconds} value={seconds}>
                  {title}
                </option>
              ))}
            </select>
          )}
        </Labelled>
        <DialogActions>
          <Button className={buttons.button} onPress={() => setAsking(false)}>
            {texts.cancel}
          </Button>
          <Button className={`${buttons.button} ${buttons.primary}`} isDisabled={isBusy} onPress={() => void rotate()}>
            {texts.rotate}
          </Button>
        </DialogActions>
      </Dialog>
    </>
  );
}

export function RevokeKey({ row }: { row: ListedKey }) {
  const texts = useStrings(keysStrings);
  const queries = useQueryClient();
  const [isAsking, setAsking] = useState(false);
  const revoking = useMutation({
    mutationFn: () => api.operations.revokeKey(row.id),
    onSuccess: () => notify(texts.revokedNow(row.prefix)),
    onError: notifyFailure,
    onSettled: () => queries.invalidateQueries({ queryKey: ['keys'] }),
  });
  return (
    <>
      <Button
        className={`${buttons.button} ${buttons.danger}`}
        isDisabled={revoking.isPending}
        onPress={() => setAsking(true)}
      >
        {texts.revoke}
      </Button>
      <ConfirmDialog
        heading={texts.revokeHeading(visibleText(row.owner))}
        text={isAsking && <WhatStops row={row} />}
        action={texts.revoke}
        isOpen={isAsking}
        onConfirm={() => revoking.mutate()}
        onClose={() => setAsking(false)}
      />
    </>
  );
}

function WhatStops({ row }: { row: ListedKey }) {
  const texts = useStrings(keysStrings);
  const formats = useFormats();
  const me = useMe();
  const { id, owner, last_used_at: lastUse, scopes } = row;
  const running = useQuery({
    queryKey: ['runs', 'running', owner],
    queryFn: ({ signal }) => api.runs.list({ state: 'running', principal: owner, limit: mostCounted, signal }),
  });
  const admins = useQuery({
    queryKey: ['keys', 'admins'],
    queryFn: ({ signal }) =>
      api.operations.keys({ state: 'active,rotating,expiring', scope: 'admin', limit: 2, signal }),
    enabled: scopes.includes('admin'),
  });
  const isLast = admins.data !== undefined && admins.data.data.every((each) => each.id === id);
  const count = running.data?.data.length ?? 0;
  const shown = running.data?.next_cursor === null ? formats.number(count) : `${formats.number(count)}+`;
  const who = visibleText(owner);
  return (
    <div className={styles.facts}>
      <p>{texts.revokeText}</p>
      <p>{lastUse === null ? texts.revokeUnused : texts.revokeUsed(formats.ago(new Date(lastUse), Date.now()))}</p>
      {running.data !== undefined && <p>{count === 0 ? texts.revokeQuiet(who) : texts.revokeRunning(shown, who)}</p>}
      {me?.key?.id === id && <p className={styles.warning}>{texts.revokeOwn}</p>}
      {isLast && <p className={styles.warning}>{texts.revokeLast}</p>}
    </div>
  );
}
