// A value by the schema that describes it, to read: the arguments of a call. Secrets are never shown, not even on demand.
import { isSecretName } from '#libs/audit/secret-names.js';
import { useStrings } from '../../i18n/language.js';
import { LongText } from '../shown/long-text.js';
import { visibleText } from '../shown/visible-text.js';
import { JsonView } from '../shown/json-view.js';
import { widgetStrings } from '../strings.js';
import { isObject, type Json, resolved, type Schema } from './form-schema.js';
import styles from './schema-values.module.css';

const deepestList = 3;

export interface SchemaValuesProps {
  /** Absent: names and values are shown without titles. */
  schema?: Schema | undefined;
  value: Json | undefined;
}

export function SchemaValues({ schema = {}, value }: SchemaValuesProps) {
  const texts = useStrings(widgetStrings);
  if (value === undefined || (isObject(value) && Object.keys(value).length === 0)) {
    return <p className={styles.none}>{texts.nothing}</p>;
  }
  return <Value root={schema} schema={schema} value={value} depth={0} />;
}

function Value(props: { root: Schema; schema: Schema; value: Json; depth: number }) {
  const { root, value, depth } = props;
  const texts = useStrings(widgetStrings);
  const schema = resolved(props.schema, root);
  if (typeof value === 'string') return <LongText text={value} />;
  if (typeof value === 'boolean') return <>{value ? texts.yes : texts.no}</>;
  if (typeof value !== 'object' || value === null) return <code>{String(value)}</code>;
  if (!isObject(value) || depth >= deepestList) return <JsonView value={masked(value)} />;
  return (
    <dl className={styles.values}>
      {Object.entries(value).map(([name, member]) => {
        const known = resolved(schema.properties?.[name] ?? {}, root);
        const isSecret = isSecretName(name) || known.format === 'password' || known.writeOnly === true;
        return (
          <div key={name} className={styles.value}>
            <dt title={known.description}>{visibleText(known.title ?? name)}</dt>
            <dd>
              {isSecret && holdsSomething(member) ? (
                <span className={styles.masked} aria-label={texts.masked} title={texts.masked} role="img">
                  ••••••
                </span>
              ) : (
                <Value root={root} schema={known} value={member} depth={depth + 1} />
              )}
            </dd>
          </div>
        );
      })}
    </dl>
  );
}

/** A copy without what the names of members say is secret. */
export function masked(value: Json): Json {
  if (Array.isArray(value)) return value.map(masked);
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [
      name,
      isSecretName(name) && holdsSomething(member) ? '••••••' : masked(member),
    ]),
  );
}

const holdsSomething = (value: Json): boolean => value !== null && value !== '' && typeof value !== 'boolean';
