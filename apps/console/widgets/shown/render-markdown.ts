// Markdown to safe HTML. HTML in it is text, a remote image is a link to it, and addresses that run something are dropped.
// What comes out is cleaned once more, by other code.
import DOMPurify from 'dompurify';
import MarkdownIt from 'markdown-it';
import { visibleText } from './visible-text.js';

const markdown = new MarkdownIt({ html: false, linkify: true, breaks: true });
const { escapeHtml } = markdown.utils;

const allowedAddress = /^(?:https?:|mailto:)/i;
markdown.validateLink = (address) => allowedAddress.test(address.trim());

markdown.renderer.rules['image'] = (tokens, index) => {
  const { content } = tokens[index]!;
  const address = String(tokens[index]!.attrGet('src') ?? '');
  return `<a href="${escapeHtml(address)}" target="_blank" rel="noopener noreferrer">${escapeHtml(content || address)}</a>`;
};

markdown.renderer.rules['link_open'] = (...[tokens, index, options, , renderer]) => {
  tokens[index]!.attrSet('target', '_blank');
  tokens[index]!.attrSet('rel', 'noopener noreferrer');
  return renderer.renderToken(tokens, index, options);
};

markdown.renderer.rules['fence'] = (tokens, index, _options, env) => {
  const { content, info } = tokens[index]!;
  const language = escapeHtml(info.trim().split(/\s+/, 1)[0] ?? '');
  return `<div><span>${language}</span><button type="button" data-copy="">${escapeHtml(String(env?.['copy']))}</button><pre tabindex="0"><code>${escapeHtml(content)}</code></pre></div>`;
};

/** `copy`: what the buttons beside blocks of code say. */
export function renderMarkdown(text: string, copy: string): string {
  return DOMPurify.sanitize(markdown.render(visibleText(text), { copy }), {
    USE_PROFILES: { html: true },
    FORBID_TAGS: ['img', 'style', 'form', 'input', 'video', 'audio', 'picture', 'source', 'track'],
    FORBID_ATTR: ['style', 'class', 'id', 'name', 'srcset', 'src', 'background', 'poster'],
    ADD_ATTR: ['target'],
    ALLOWED_URI_REGEXP: allowedAddress,
  });
}
