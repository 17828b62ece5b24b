// Test support: parses an event stream whose events are named, and checks that each name equals the event's type.
import { expect } from 'vitest';

export function readFrames<Event extends { type: string } = { type: string } & Record<string, unknown>>(
  text: string,
): Event[] {
  const frames = text.split('\n\n');
  expect(frames.pop()).toBe('');
  return frames.map((frame) => {
    const [name, data] = frame.split('\n') as [string, string];
    const event = JSON.parse(data.slice('data: '.length)) as Event;
    expect(name).toBe(`event: ${event.type}`);
    return event;
  });
}
