// Tools that the offline model has no rule for: those of widely used MCP servers, and of the documentation.
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect } from 'vitest';
import type { JsonObject } from '#libs/schemas/json.js';
import type { ToolDefinition } from '#libs/schemas/tool-definition.js';
import {
  ask,
  converse,
  tool,
  text,
  number,
  undoneMark,
  user,
  whole,
  type Calls,
} from '../../../../test/support/ask-offline-model.js';
import { verifies } from '../../../../test/verifies.js';

const root = fileURLToPath(new URL('../../../../test/fixtures/tool-definitions/', import.meta.url));

function toolsOf(server: string): ToolDefinition[] {
  const { tools } = JSON.parse(readFileSync(`${root}${server}.json`, 'utf8')) as {
    tools: { name: string; description?: string; inputSchema: JsonObject }[];
  };
  return tools.map(({ name, description = '', inputSchema }) => ({ name, description, parameters: inputSchema }));
}

const documented: Record<string, ToolDefinition[]> = {
  'own-tools.md': [
    tool(
      'get_all_parameters',
      {
        category: { type: 'string', enum: ['all', 'model', 'search'], default: 'all' },
        format: { type: 'string', enum: ['json', 'text'], default: 'json' },
      },
      { description: 'Lists the parameters of a category, or of all of them.', required: [] },
    ),
    tool('analyze_question', { question: text }, { description: 'Analyzes a question: what kind it is and how long.' }),
  ],
  everyday: [
    tool('set_reminder', { text, when: { type: 'string', format: 'date-time' } }, { description: 'Sets a reminder' }),
    tool('convert_units', { value: number, from_unit: text, to_unit: text }, { description: 'Converts between units' }),
    tool('roll_dice', { count: whole, sides: { type: 'integer', default: 6 } }, { required: ['count'] }),
    tool('get_order', { order_id: text }, { description: '查询订单状态' }),
    tool('random_number', { min: whole, max: whole }, { description: 'Generates a random number' }),
  ],
};
const sets = new Map([
  ...Object.entries(documented),
  ...readdirSync(root).map((file) => [file.replace('.json', ''), toolsOf(file.replace('.json', ''))] as const),
]);

/** One request, the server, and the calls of the first round. */
const rows: [request: string, server: string, calls: Calls][] = [
  ['How will AI reshape the labor market?', 'own-tools.md', [['analyze_question', { question: 'How will AI reshape the labor market?' }]]],
  ['为什么天空是蓝色的？', 'own-tools.md', [['analyze_question', { question: '为什么天空是蓝色的？' }]]],
  ['列出所有参数', 'own-tools.md', [['get_all_parameters', {}]]],
  ['Get the search parameters as text', 'own-tools.md', [['get_all_parameters', { category: 'search', format: 'text' }]]],
  ['Remind me to water plants tomorrow at 5pm', 'everyday', [['set_reminder', { text: 'water plants', when: '2027-03-11T17:00:00Z' }]]],
  ['提醒我后天上午九点开会', 'everyday', [['set_reminder', { text: '开会', when: '2027-03-12T09:00:00Z' }]]],
  ['Convert 5 miles to kilometers', 'everyday', [['convert_units', { value: 5, from_unit: 'miles', to_unit: 'kilometers' }]]],
  ['Roll 3 dice', 'everyday', [['roll_dice', { count: 3 }]]],
  ['查询订单 20231105 的状态', 'everyday', [['get_order', { order_id: '20231105' }]]],
  ['Generate a random number between 1 and 10', 'everyday', [['random_number', { min: 1, max: 10 }]]],
  ['Read the file notes.txt', 'server-filesystem', [['read_file', { path: 'notes.txt' }]]],
  ['列出 docs 目录', 'server-filesystem', [['list_directory', { path: 'docs' }]]],
  ['Create the directory backup/old', 'server-filesystem', [['create_directory', { path: 'backup/old' }]]],
  ['Move a.txt to b.txt', 'server-filesystem', [['move_file', { source: 'a.txt', destination: 'b.txt' }]]],
  ['Show the directory tree of src/', 'server-filesystem', [['directory_tree', { path: 'src/' }]]],
  ['Which directories are allowed?', 'server-filesystem', [['list_allowed_directories', {}]]],
  ['Search for *.ts in src/', 'server-filesystem', [['search_files', { path: 'src/', pattern: '*.ts' }]]],
  ['Get info about a.txt', 'server-filesystem', [['get_file_info', { path: 'a.txt' }]]],
  ['What is the sum of 5 and 7?', 'server-everything', [['get-sum', { a: 5, b: 7 }]]],
  ['5加7等于多少', 'server-everything', [['get-sum', { a: 5, b: 7 }]]],
  ['Get a tiny image', 'server-everything', [['get-tiny-image', {}]]],
  ['Search GitHub repositories for "mcp server"', 'server-github', [['search_repositories', { query: 'mcp server' }]]],
  ['Create a repository named demo', 'server-github', [['create_repository', { name: 'demo' }]]],
  ['搜索一下最新的人工智能新闻', 'server-brave-search', [['brave_web_search', { query: '人工智能新闻' }]]],
  ['Find restaurants near Times Square', 'server-brave-search', [['brave_local_search', { query: 'restaurants near Times Square' }]]],
  ['Get directions from Berlin to Hamburg', 'server-google-maps', [['maps_directions', { origin: 'Berlin', destination: 'Hamburg' }]]],
  ['Geocode "1600 Amphitheatre Parkway"', 'server-google-maps', [['maps_geocode', { address: '1600 Amphitheatre Parkway' }]]],
  ['Read the graph', 'server-memory', [['read_graph', {}]]],
  ['Search the nodes for Alice', 'server-memory', [['search_nodes', { query: 'Alice' }]]],
  ['Delete the entities Bob and Carol', 'server-memory', [['delete_entities', { entityNames: ['Bob', 'Carol'] }]]],
  ['Navigate to https://example.com', 'playwright-mcp', [['browser_navigate', { url: 'https://example.com' }]]],
  ['Close the page', 'playwright-mcp', [['browser_close', {}]]],
  ['Press the key Enter', 'playwright-mcp', [['browser_press_key', { key: 'Enter' }]]],
  ['Resize the window to 800 by 600', 'playwright-mcp', [['browser_resize', { width: 800, height: 600 }]]],
  ['Click on "#submit"', 'server-puppeteer', [['puppeteer_click', { selector: '#submit' }]]],
  ['Fill "#name" with "Bob"', 'server-puppeteer', [['puppeteer_fill', { selector: '#name', value: 'Bob' }]]],
  ['Post "Deploy done" to channel C0123', 'server-slack', [['slack_post_message', { channel_id: 'C0123', text: 'Deploy done' }]]],
  ['列出所有频道', 'server-slack', [['slack_list_channels', {}]]],
  ['Get the profile of user U42', 'server-slack', [['slack_get_user_profile', { user_id: 'U42' }]]],
  ['List the connections', 'mongodb-mcp-server', [['list-connections', {}]]],
  ['Search the knowledge base for sharding', 'mongodb-mcp-server', [['search-knowledge', { query: 'sharding' }]]],
  ['List all users', 'notionhq-notion-mcp-server', [['API-get-users', {}]]],
  ['Search for "Roadmap"', 'notionhq-notion-mcp-server', [['API-post-search', { query: 'Roadmap' }]]],
  ['List all databases', 'mongodb-mcp-server', []],
  ['Tell me a joke', 'server-filesystem', []],
]; // prettier-ignore

for (const [request, server, calls] of rows) {
  verifies('offline.first-round', `${request}, ${server}`, async () => {
    expect((await ask([user(request)], sets.get(server))).calls).toEqual(calls);
    if (calls.length > 0) expect((await converse(request, sets.get(server)!, {})).text).not.toMatch(undoneMark);
  });
}
