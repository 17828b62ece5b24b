// The verification of the audit by the gateway, as long as the view is open.
import type { AuditProgress, AuditVerification } from '@signalbox/client';
import { useEffect, useRef, useState } from 'react';
import { api } from '../../../api/api.js';

export type VerificationState =
  | { kind: 'running'; progress: AuditProgress | undefined }
  | { kind: 'done'; result: AuditVerification; since: string | undefined }
  | { kind: 'failed'; error: unknown };

export interface RunningVerification {
  state: VerificationState | undefined;
  start: (since: string | undefined) => void;
  /** Cancels it, or takes its result away. */
  close: () => void;
}

export function useVerification(): RunningVerification {
  const [state, setState] = useState<VerificationState>();
  const stop = useRef<AbortController>(undefined);
  useEffect(() => () => stop.current?.abort(), []);
  async function verify(since: string | undefined) {
    stop.current?.abort();
    const own = new AbortController();
    stop.current = own;
    setState({ kind: 'running', progress: undefined });
    try {
      const result = await api.operations.verifyAudit({ since, signal: own.signal }, (progress) => {
        if (!own.signal.aborted) setState({ kind: 'running', progress });
      });
      if (!own.signal.aborted) setState({ kind: 'done', result, since });
    } catch (error) {
      if (!own.signal.aborted) setState({ kind: 'failed', error });
    }
  }
  return {
    state,
    start: (since) => void verify(since),
    close: () => {
      stop.current?.abort();
      setState(undefined);
    },
  };
}
