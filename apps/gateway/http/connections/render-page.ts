// A page of a sign-in: HTML without script, whose only style is ours. Everything that comes from outside is escaped, and characters
// that would not be seen are shown by their code points.
import { createHash } from 'node:crypto';
import type { PageLanguage } from './page-words.js';

export interface SignInPage {
  language: PageLanguage;
  tone: 'good' | 'bad' | 'plain';
  heading: string;
  text: string;
  facts: readonly (readonly [name: string, value: string])[];
  form?: {
    /** Relative to the page; absent: the page itself. */
    action?: string;
    label: string;
    /** A hidden field. */
    answer?: string;
  };
  note?: string;
  link?: { href: string; label: string };
}

/** Colours as those of the console. */
const style = `:root{color-scheme:light dark;--page:light-dark(#f6f7f9,#0e0f12);--raised:light-dark(#fff,#1b1d22);
--line:light-dark(#e3e6ea,#2a2d34);--ink:light-dark(#1b1e24,#e8eaee);--soft:light-dark(#555d69,#a6adb8);
--accent:light-dark(#2a57c4,#8fb0ff);--fill:light-dark(#2a57c4,#3561cf);--good:light-dark(#1a6e3c,#6fcf97);--bad:light-dark(#b3261e,#ff9a91)}
*{box-sizing:border-box}
body{margin:0;min-height:100vh;display:grid;place-items:center;padding:16px;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue','Noto Sans','PingFang SC','Microsoft YaHei','Noto Sans CJK SC',sans-serif}
main{width:min(100%,460px);display:grid;gap:16px;padding:24px;background:var(--raised);border:1px solid var(--line);border-radius:10px;
overflow-wrap:anywhere}
header{font-size:13px;color:var(--soft)}
h1{margin:0;font-size:20px;font-weight:600;line-height:1.3}
.good h1{color:var(--good)}.bad h1{color:var(--bad)}
p{margin:0}
dl{margin:0;display:grid;grid-template-columns:max-content minmax(0,1fr);gap:8px 16px}
dt{color:var(--soft)}dd{margin:0}
button,.link{display:inline-block;padding:8px 16px;border:0;border-radius:6px;background:var(--fill);color:#fff;font:inherit;font-weight:600;
text-decoration:none;cursor:pointer}
.link{padding:0;background:none;color:var(--accent)}
button:focus-visible,.link:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.note{font-size:13px;color:var(--soft)}`;

const styleHash = createHash('sha256').update(style).digest('base64');

export function pageHeaders({ form }: SignInPage): Record<string, string> {
  // Browsers apply it to where a form is redirected too, which is the issuer: its address is not known before it is asked.
  const formAction = form === undefined ? "'none'" : "'self' https: http:";
  return {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`,
    'x-frame-options': 'DENY',
    'x-content-type-options': 'nosniff',
    'cache-control': 'no-store',
    vary: 'Accept-Language, Cookie',
    // A form is only taken from its own page, which its browser says by this policy; no other origin is told an address.
    'referrer-policy': form === undefined ? 'no-referrer' : 'same-origin',
  };
}

export function renderPage(page: SignInPage): string {
  const { language, tone, heading, text, facts, form, note, link } = page;
  const parts = [
    `<header>Signalbox</header><h1>${escaped(heading)}</h1><p>${escaped(text)}</p>`,
    ...(facts.length === 0 ? [] : [`<dl>${facts.map(renderFact).join('')}</dl>`]),
    ...(form === undefined ? [] : [renderForm(form)]),
    ...(note === undefined ? [] : [`<p class="note">${escaped(note)}</p>`]),
    ...(link === undefined ? [] : [`<p><a class="link" href="${escaped(link.href)}">${escaped(link.label)}</a></p>`]),
  ];
  return `<!doctype html>
<html lang="${language === 'zh' ? 'zh-CN' : 'en'}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${escaped(heading)} · Signalbox</title>
<style>${style}</style>
</head>
<body><main class="${tone}">
${parts.join('\n')}
</main></body>
</html>
`;
}

const renderFact = ([name, value]: readonly [string, string]): string =>
  `<dt>${escaped(name)}</dt><dd><bdi>${escaped(value)}</bdi></dd>`;

function renderForm({ action, label, answer }: NonNullable<SignInPage['form']>): string {
  const at = action === undefined ? '' : ` action="${escaped(action)}"`;
  const field = answer === undefined ? '' : `<input type="hidden" name="answer" value="${escaped(answer)}">`;
  return `<form method="post"${at}>${field}<button>${escaped(label)}</button></form>`;
}

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
};

const escaped = (text: string): string =>
  text
    .replaceAll(
      /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
      (each) => `⟨U+${each.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')}⟩`,
    )
    .replaceAll(/[&<>"']/g, (each) => entities[each]!);
