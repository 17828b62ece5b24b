import { expect } from 'vitest';
import { verifies } from '../../../../test/verifies.js';
import { analyzeText } from './analyze-text.js';
import { detectLanguage } from './detect-language.js';
import { chineseReadingEase, textComplexity } from './readability.js';
import { countWords, splitSentences, splitWords } from './split-text.js';
import type { TextStructure } from './text-structure.js';

const analyzed = (content: string, language?: string) => analyzeText({ type: 'text', content, language });
const structureOf = (content: string) => analyzed(content).structure as TextStructure;

verifies('chimech.analyze.text', 'words', () => {
  expect(countWords('The quick brown fox jumps over the lazy dog.')).toBe(9);
  expect(countWords("Don't count 3.14 twice — it’s one, not two.")).toBe(8);
  expect(countWords('Ünïcödé wörds, naïve café.')).toBe(4);
  expect([...splitWords('我们用 Node.js 写代码，真好')]).toEqual([
    '我们',
    '用',
    'Node.js',
    '写',
    '代码',
    undefined,
    '真好',
  ]);
  expect(countWords('我爱北京天安门')).toBe(4);
  expect(countWords(' \n…！')).toBe(0);
});

verifies('chimech.analyze.text', 'sentences', () => {
  expect(splitSentences('Dr. Smith met J. Doe at 3.5 km. It rained! "Why?" he asked. The end…')).toEqual([
    'Dr. Smith met J. Doe at 3.5 km.',
    'It rained!',
    '"Why?"',
    'he asked.',
    'The end…',
  ]);
  expect(splitSentences('你好。“真的吗？”他问。再见！')).toEqual(['你好。', '“真的吗？”', '他问。', '再见！']);
  expect(splitSentences('Use e.g. a list, etc. and so on.')).toHaveLength(1);
  expect(splitSentences('…')).toEqual([]);
});

verifies('chimech.analyze.text', 'Flesch of a known sentence, and the Chinese formula by hand', () => {
  // 6 words and 9 syllables: 206.835 − 1.015 · 6 − 84.6 · 9 / 6.
  expect(analyzed('Rivers carry water to the sea.').metrics).toMatchObject({ word_count: 6, readability_score: 73.8 });
  // 17.52547988 + 0.00242523 · 1000 + 0.04414527 · 40 − 18.33435443 · 0.95 is the school year 4.299.
  const figures = { words: 600, syllables: 0, rareWords: 30, hanCharacters: 1000, commonHanCharacters: 950 };
  expect(chineseReadingEase(figures, 25)).toBe(70);
  // 24 words a sentence: 76 % of the way from 5 to 30; 5 % rare words are a third of 15 %.
  expect(textComplexity(figures, 25, 0.15)).toBe(54.7);
});

verifies('chimech.analyze.text', 'easy texts are easier than hard ones, in both languages', () => {
  const easy = analyzed('The dog ran. The cat sat down. We had milk and bread. It was a good day.');
  const hard = analyzed(
    'Notwithstanding considerable methodological heterogeneity, longitudinal epidemiological investigations demonstrate statistically significant associations between socioeconomic deprivation and cardiovascular morbidity.',
  );
  expect(easy.metrics.readability_score).toBeGreaterThan(90);
  expect(hard.metrics.readability_score).toBe(0);
  expect(hard.metrics.complexity_score).toBeGreaterThan(easy.metrics.complexity_score + 50);

  const child = analyzed('小猫在家。小狗也在家。妈妈回来了。我们吃饭。');
  const classic = analyzed(
    '饕餮、螭魅、魍魉、夔夒皆先秦典籍所载之怪，其鬐鬣嶙峋，爪牙狰狞，踽踽于榛莽薮泽之间，而缙绅士大夫每引以为谶纬之征，斯亦诡谲瑰玮之甚矣，虽皓首穷经者亦难窥其涯涘也。',
  );
  expect(child.metrics.readability_score).toBe(100);
  expect(classic.metrics.readability_score).toBeLessThan(80);
  expect(classic.metrics.complexity_score).toBeGreaterThan(child.metrics.complexity_score + 30);
});

verifies('chimech.analyze.text', 'Markdown', () => {
  const text = [
    '---\ntitle: ignored\n---',
    '# Title\n\nOne paragraph\nover two lines. Two sentences.',
    '## Part\n\n- a\n- b\n  1. c\n  2. d\n\n```js\nconst code = 1;\n```\n\n| x | y |\n|---|---|\n| 1 | 2 |',
    'Setext\n---\n\n[Link](https://example.com/not-words) and <b>bold</b> text.',
  ].join('\n\n');
  expect(structureOf(text)).toMatchObject({
    language: 'en',
    headings: [
      { level: 1, text: 'Title', line: 5 },
      { level: 2, text: 'Part', line: 10 },
      { level: 2, text: 'Setext', line: 25 },
    ],
    paragraphs: 2,
    sentences: 7,
    lists: [
      { ordered: false, items: 2, line: 12 },
      { ordered: true, items: 2, line: 14 },
    ],
  });
  // Title, Part, Setext; 7 words of the first paragraph; a b c d; x y 1 2; "Link and bold text".
  expect(analyzed(text).metrics.word_count).toBe(22);
});

verifies('chimech.analyze.text', 'Chinese plain text with a paragraph a line', () => {
  const text = '第一章 总则\n人工智能正在改变生活。它很快！\n一、目的\n　　为了大家学习。';
  expect(structureOf(text)).toMatchObject({
    language: 'zh',
    headings: [
      { level: 1, text: '第一章 总则', line: 1 },
      { level: 2, text: '一、目的', line: 3 },
    ],
    paragraphs: 2,
    sentences: 3,
  });
});

verifies('chimech.analyze.text', 'languages', () => {
  expect(detectLanguage('我用 React 写前端')).toBe('zh');
  expect(detectLanguage('The word 中文 means Chinese')).toBe('en');
  expect(detectLanguage('これは日本語の文章です。')).toBe('other');
  expect(detectLanguage('Это русский текст о погоде и о людях')).toBe('other');
  const french =
    'Le chat est sur la table et il ne veut pas descendre parce que la pluie tombe depuis ce matin dans la ville';
  expect(detectLanguage(french)).toBe('other');
  expect(analyzed(french).metrics).not.toHaveProperty('readability_score');
  expect(analyzed(french).warnings).toHaveLength(1);
  expect(() => analyzed('text', 'klingon')).toThrow('zh, en');
});

verifies('chimech.analyze.text', 'notes without function words', () => {
  const english = [
    'Q3 revenue up 12% YoY. EMEA flat. Churn 2.1%. Hire 3 SREs by EOM. Freeze travel budget. Ship v2 GA Oct 15. NPS 45. CAC down 8%. Runway 18 months.',
    'Standup:\n- auth refactor done\n- billing webhook retries blocked\n- deploy staging tomorrow\n- flaky login tests\n- pair Bob/Alice, latency dashboards\n- review PR 4411\n- vacation Thu/Fri',
    'Attendees: José García, Zoë Müller, Jürgen Weiß, Søren Ødegård, François Lefèvre, Ana Muñoz. Budget approved. Next meeting Tuesday 10am. Action items: José vendor contract, Zoë hiring plan, Jürgen cloud costs, Ana press release.',
    'Apple unveils M7 chips; Fed holds rates steady; Oil slips 3%; Tokyo stocks rally; Senate passes spending bill; Storm hits Florida coast; Lakers beat Celtics; SpaceX launches crew; Nvidia earnings top estimates; Gold hits record',
    'KEY METRICS: MRR $1.2M, ARR $14.4M, GROSS MARGIN 71%, BURN $350K, CASH $6.1M, HEADCOUNT 64, PIPELINE $3.8M, WIN RATE 24%, SALES CYCLE 41 DAYS, LOGO CHURN 1.9%, LA, UN, DE OFFICES OPEN',
    'eggs, milk, flour, butter, sugar, yeast, salt, olive oil, tomatoes, basil, mozzarella, chicken thighs, rice, black beans, cilantro, limes, avocados, tortillas, coffee, paper towels, dish soap, sponges',
    'Risks: vendor lock-in, GPU shortage, key-person dependency, GDPR audit Q1. Mitigation: second supplier, reserved capacity, cross-training, external counsel. Owner: Priya. Deadline: Nov 30. Status: amber. Escalation path: CTO, board.',
    'Client visit Los Angeles, San José, Rio de Janeiro, Buenos Aires. Flights booked. Hotels pending. Demo laptops charged, badges printed, slides final, NDA signed, contracts drafted, interpreters hired, dinner reservations confirmed.',
    'Senior SRE. Kubernetes, Terraform, AWS, Go, Python, Prometheus, Grafana. Remote EU timezone. Competitive salary, stock options, 30 days vacation, home office budget, conference allowance, sabbatical after five years.',
    'Call Dan re renewal. Send quote. Follow up Acme, Globex, Initech. Legal review MSA redlines. Invoice 2231 overdue. Chase AP dept. Book QBR. Update CRM. Log hours. Cancel Zoom trial. Mail info@example.com, sales@example.de.',
  ];
  const chinese = [
    'Q3 营收增长 12%，EMEA 持平，流失率 2.1%，月底前招 3 名 SRE。',
    'Q3 OKR: MRR 上涨, ARR 1.2M, CAC 下降, LTV/CAC 3.2, NPS 45, DAU/MAU 38%, GMV 持平, ROI 2.4, SRE HC 3, PR/IR, API SLA 99.9%, CI/CD 完成',
    '待办：合同、预算、招聘、PPT、OKR 复盘、demo 环境、API 文档',
  ];
  for (const text of english) expect([detectLanguage(text), text]).toEqual(['en', text]);
  for (const text of chinese) expect([detectLanguage(text), text]).toEqual(['zh', text]);
  expect(detectLanguage('Q3 review 增长: revenue up 12% YoY, churn 2.1%, hire 3 SREs, EMEA flat, 招聘 done')).toBe(
    'en',
  );
  expect(analyzed(english[0]!)).toMatchObject({
    metrics: { readability_score: expect.any(Number) as number },
    warnings: [],
  });
});

verifies('chimech.analyze.text', 'notes of other languages', () => {
  const others = [
    'CA T3 en hausse de 12 % sur un an. EMEA stable. Attrition 2,1 %. Recruter 3 SRE avant la fin du mois. Gel des budgets de voyage. Sortie de la v2 le 15 octobre.',
    'Umsatz Q3 um 12 % über Vorjahr. EMEA stabil. Abwanderung bei 2,1 %. 3 SREs bis zum Monatsende einstellen. Reisen nur mit Freigabe. Vertrag mit Acme noch nicht unterschrieben. Termin für Audit offen.',
    'Ingresos del T3 suben 12 % interanual. EMEA sin cambios. Contratar 3 SRE para fin de mes. Congelar el presupuesto de viajes. Lanzamiento de la v2 el 15 de octubre.',
    'Receita do T3 sobe 12 % no ano. EMEA estável. Contratar 3 SREs até o fim do mês. Congelar viagens. Lançamento da v2 em outubro, com revisão dos contratos.',
    'Ricavi del T3 in crescita del 12 %. EMEA stabile. Assumere 3 SRE entro la fine del mese. Viaggi bloccati. Lancio della v2 il 15 ottobre, con revisione dei contratti.',
    'Omzet Q3 stijgt met 12 %. EMEA vlak. Voor het einde van de maand 3 SREs aannemen. Reisbudget bevroren. Lancering van v2 op 15 oktober, contract met Acme nog niet getekend.',
    'Przychody w III kw. wzrosły o 12 %. EMEA bez zmian. Zatrudnić 3 SRE do końca miesiąca. Podróże służbowe wstrzymane. Premiera wersji drugiej w październiku.',
    'Doanh thu quý ba tăng 12 %. Thị trường châu Âu ổn định. Tuyển ba kỹ sư trước cuối tháng. Ngừng chi phí đi lại. Ra mắt phiên bản hai vào tháng mười.',
    'Pendapatan kuartal ketiga naik 12 % dari tahun lalu. Pasar Eropa stabil. Rekrut tiga insinyur untuk tim dan tutup anggaran perjalanan. Peluncuran versi dua pada bulan Oktober.',
    'Le chat est sur la table.',
  ];
  for (const text of others) expect([detectLanguage(text), text]).toEqual(['other', text]);
});

const english = `Rivers carry water to the sea. A river begins at a spring, or where glaciers melt.
Glaciers melt faster in warm years. Many people drink river water, and farmers use river water for their fields.
The weather was nice. River water must be cleaned before people drink it.`;
const chinese = `机器学习是人工智能的分支。机器学习算法从数据中学习规律。有人喜欢喝茶。
数据质量决定机器学习算法的效果。没有数据，机器学习算法就没有用。`;

verifies('chimech.analyze.text', 'keywords and phrases', () => {
  expect(analyzed(english).keywords.slice(0, 3)).toContain('river water');
  expect(analyzed(chinese).keywords.slice(0, 3)).toContain('机器学习');
  expect(analyzed(english).keywords).not.toContain('the');
});

verifies('chimech.analyze.summary', 'extracted sentences are the content’s own, in its order', () => {
  for (const [text, minor] of [
    [english, 'weather was nice'],
    [chinese, '喝茶'],
  ] as const) {
    const { summary } = analyzed(text);
    expect(summary).not.toContain(minor);
    expect(summary.length).toBeLessThan(text.length);
  }
  expect(analyzed(english).summary).toMatch(/^Rivers carry water to the sea\. /);
});
