// What the next message mentions: files that were dropped into the conversation, each uploaded into the session at once, and resources
// and prompts of tool servers.
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { type OfferPart, SignalboxError } from '@signalbox/client';
import { api } from '../../../api/api.js';
import { notifyFailure } from '../../../widgets/notices.js';

export interface Attachments {
  uploading: readonly string[];
  paths: readonly string[];
  add(files: Iterable<File>): Promise<void>;
  remove(path: string): void;
  offers: readonly OfferPart[];
  attach(offer: OfferPart): void;
  detach(offer: OfferPart): void;
  /** All of them, for a message; then there are none. */
  take(): { files: string[]; offers?: OfferPart[] };
}

const mostNames = 100;

export function useAttachments(sessionId: string): Attachments {
  const queries = useQueryClient();
  const [uploading, setUploading] = useState<readonly string[]>([]);
  const [offers, setOffers] = useState<readonly OfferPart[]>([]);
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
    offers,
    attach: (offer) => setOffers((now) => [...now, offer]),
    detach: (offer) => setOffers((now) => now.filter((each) => each !== offer)),
    remove: (path) => setPaths((now) => now.filter((each) => each !== path)),
    take() {
      setPaths([]);
      setOffers([]);
      return { files: [...paths], ...(offers.length > 0 && { offers: [...offers] }) };
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
