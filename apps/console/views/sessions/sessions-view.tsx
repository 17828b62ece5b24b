// The sessions that one may see, or one of them with its files.
import { useParams } from '@tanstack/react-router';
import { SessionList } from './session-list.js';
import { SessionDetail } from './session-detail.js';

export default function SessionsView() {
  const { id }: { id?: string } = useParams({ strict: false });
  return id === undefined ? <SessionList /> : <SessionDetail key={id} id={id} />;
}
