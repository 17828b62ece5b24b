// The channels' part of the conformance suite.
import { describe, expect, test } from 'vitest';
import { verifies } from '../verifies.js';
import { Collected, failureOf, type MakeStore, sharedStore } from './conformance-store.js';

export function channelConformance(makeStore: MakeStore): void {
  describe('channels', () => {
    const shared = sharedStore(makeStore);

    verifies('backing.channel-order', '200 messages at once, equal ones too, between other channels', async () => {
      const heard = new Collected<string>();
      const end = await shared.two.channels.subscribe('run:Order', heard.add);
      const sent = Array.from({ length: 200 }, (_, index) => `message ${Math.floor(index / 2)}`);
      await Promise.all(
        sent.flatMap((message, index) => [
          shared.one.channels.publish('run:Order', message),
          shared.one.channels.publish(`run:${index}`, message),
        ]),
      );
      await heard.count(200);
      await end();
      expect(heard.items).toEqual(sent);
    });

    verifies('backing.channel-every-subscriber', '200 channels, two subscribers each in two processes', async () => {
      const heard = new Collected<string>();
      const names = Array.from({ length: 200 }, (_, index) => `Run:${index}:${'x'.repeat(80)}`);
      const ends = await Promise.all(
        names.flatMap((name) => [
          shared.one.channels.subscribe(name, (message) => heard.add(`one ${name} ${message}`)),
          shared.two.channels.subscribe(name, (message) => heard.add(`two ${name} ${message}`)),
        ]),
      );
      await Promise.all(
        names.map((name, index) => (index % 2 === 0 ? shared.one : shared.two).channels.publish(name, 'hello')),
      );
      await heard.count(400);
      expect(new Set(heard.items)).toEqual(
        new Set(names.flatMap((name) => [`one ${name} hello`, `two ${name} hello`])),
      );
      await Promise.all(ends.map((end) => end()));
    });

    verifies('backing.channel-ended', 'one of two subscriptions in a process', async () => {
      const ended = new Collected<string>();
      const kept = new Collected<string>();
      const end = await shared.two.channels.subscribe('catalog', ended.add);
      const endKept = await shared.two.channels.subscribe('catalog', kept.add);
      await shared.one.channels.publish('catalog', 'first');
      await kept.count(1);
      await end();
      await end();
      await shared.one.channels.publish('catalog', 'second');
      await kept.count(2);
      await endKept();
      expect(ended.items).toEqual(['first']);
      // And listening again after the last one left.
      const again = new Collected<string>();
      const endAgain = await shared.two.channels.subscribe('catalog', again.add);
      await shared.one.channels.publish('catalog', 'third');
      await again.count(1);
      await endAgain();
      expect(again.items).toEqual(['third']);
    });

    verifies('backing.channel-size', 'as large as promised in characters of 1, 2, 3 and 4 bytes', async () => {
      const most = shared.one.channels.maxMessageBytes;
      const heard = new Collected<string>();
      const name = `replies:${'n'.repeat(100)}`;
      const end = await shared.two.channels.subscribe(name, heard.add);
      const largest = ['a', '"', 'é', '€', '😀'].map((character) => {
        const text = character.repeat(Math.floor(most / Buffer.byteLength(character)));
        return text + 'a'.repeat(most - Buffer.byteLength(text));
      });
      await Promise.all(largest.map((message) => shared.one.channels.publish(name, message)));
      await heard.count(largest.length);
      expect(heard.items).toEqual(largest);
      for (const message of largest) {
        const { error } = await failureOf(() => shared.one.channels.publish(name, `${message}a`));
        expect(error).toBeInstanceOf(RangeError);
      }
      await end();
    });

    test('text that a store may not take as it is', async () => {
      const heard = new Collected<string>();
      const end = await shared.two.channels.subscribe('odd \u0000 name', heard.add);
      const sent = ['', ' ', '0 1', 'NUL \u0000', 'half \ud800 pair', 'line\nline'];
      for (const message of sent) await shared.one.channels.publish('odd \u0000 name', message);
      await heard.count(sent.length);
      await end();
      expect(heard.items).toEqual(sent);
    });

    test('a listener that throws takes nothing from the others', async () => {
      const heard = new Collected<string>();
      const ends = [
        await shared.two.channels.subscribe('workers', () => {
          throw new Error('a fault of the listener');
        }),
        await shared.two.channels.subscribe('workers', heard.add),
      ];
      await shared.one.channels.publish('workers', 'stop');
      await heard.count(1);
      await Promise.all(ends.map((end) => end()));
    });

    test('an aborted signal refuses at once', async () => {
      await expect(shared.one.channels.publish('workers', 'x', AbortSignal.abort(new Error('gone')))).rejects.toThrow(
        'gone',
      );
    });
  });
}
