// Files that were dropped into a conversation: each is uploaded into the session at once, and mentioned in the next message.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { SignalboxError } from '@signalbox/client';
import { api } from '../../../api/api.js';
import { notifyFailure } from '../../../widgets/notices.js';

export interface Attachments {
  uploading: readonly string[];
  paths: readonly string[];
  add(files: Iterable<File>): Promise<void>;
  remove(path: string): void;
  /** The paths, for a message; then there are none. */
  take(): string[];
}

const mostNames = 100;

export function useAttachments(sessionId: string): Attachments {
  const queries = useQueryClient();
  const [uploading, setUploading] = useState<readonly string[]>([]);
  const [paths, setPaths] = useState<readonly string[]>([]);
  async function upload(file: File) {
    setUploading((now) => [...now, file.name]);
    try {
      const path = await uploadAsNew(sessionId, file);
      setPaths((now) => [...now, path]);
    } catch (error) {
      notifyFailure(error);
    } finally {
      setUploading((now) => now.filter((_name, at) => at !== now.indexOf(file.name)));
    }
  }
  return {
    uploading,
    paths,
    async add(files) {
      for (const file of files) await upload(file);
      await queries.invalidateQueries({ queryKey: ['files', sessionId] });
    },
    remove: (path) => setPaths((now) => now.filter((each) => each !== path)),
    take() {
      setPaths([]);
      return [...paths];
    },
  };
}

/** Replaces no file: another one of that name gets a number. */
async function uploadAsNew(sessionId: string, file: File): Promise<string> {
  const name = file.name.replaceAll(/[/\\]/g, '_');
  const dot = name.lastIndexOf('.');
  const [stem, extension] = dot > 0 ? [name.slice(0, dot), name.slice(dot)] : [name, ''];
  for (let number = 1; ; number += 1) {
    const path = number === 1 ? name : `${stem}-${number}${extension}`;
    try {
      return (await api.files.upload({ sessionId, path, content: file }, { ifNoneMatch: '*' })).path;
    } catch (error) {
      const isTaken = error instanceof SignalboxError && error.code === 'precondition_failed';
      if (!isTaken || number === mostNames) throw error;
    }
  }
}
