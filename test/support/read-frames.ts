// Test support: the frames of an event stream that names its events, each name being the type that the event says.
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
