// Talks to the simulator at the address given, and says what it saw as one JSON object.
const sdk = require('@anthropic-ai/sdk');
const Anthropic = sdk.default || sdk;

const schema = {
  type: 'object', additionalProperties: false, required: ['tags', 'mood'],
  properties: { tags: { type: 'array', items: { type: 'string' } }, mood: { enum: ['calm', 'wild'] } },
};
const base = { model: 'claude-haiku-4-5', max_tokens: 300 };
const user = (text) => ({ ...base, messages: [{ role: 'user', content: text }] });

async function failed(call) {
  try {
    await call();
    return { none: true };
  } catch (e) {
    return { name: e.constructor.name, status: e.status, type: e.error && e.error.error && e.error.error.type, request: Boolean(e.requestID) };
  }
}

async function main() {
  const client = new Anthropic({ baseURL: process.argv[2], apiKey: 'test-key', maxRetries: 0, timeout: 20000 });
  const seen = {};
  const plain = await client.messages.create(user('a harbor at night'));
  seen.plain = { stop: plain.stop_reason, text: plain.content[0].text };
  const tagged = await client.messages.create({ ...user('a harbor at night'), output_config: { format: { type: 'json_schema', schema } } });
  seen.tags = JSON.parse(tagged.content[0].text);
  const tool = await client.messages.create({
    ...user('a harbor at night'), tools: [{ name: 'save', input_schema: schema }], tool_choice: { type: 'tool', name: 'save' },
  });
  seen.tool = { stop: tool.stop_reason, name: tool.content[0].name, input: tool.content[0].input };
  const stream = client.messages.stream(user('a harbor at night'));
  let text = '';
  stream.on('text', (piece) => { text += piece; });
  const final = await stream.finalMessage();
  seen.stream = { stop: final.stop_reason, text, output: final.usage.output_tokens };
  seen.count = (await client.messages.countTokens({ model: base.model, messages: user('a harbor').messages })).input_tokens;
  seen.model = await client.models.retrieve('claude-haiku-4-5');
  seen.overloaded = await failed(() => client.messages.create(user('it is busy')));
  seen.credit = await failed(() => client.messages.create(user('it is broke')));
  seen.limited = await failed(() => client.messages.create(user('too fast')));
  seen.gateway = await failed(() => client.messages.create(user('by a gateway')));
  seen.cut = await failed(() => client.messages.create(user('it is cut')));
  seen.refused = await failed(() => client.messages.create(user('')));
  seen.broken = await failed(() => client.messages.stream(user('a broken stream')).finalMessage());
  const retrying = new Anthropic({ baseURL: process.argv[2], apiKey: 'test-key', maxRetries: 2 });
  seen.again = (await retrying.messages.create(user('once only'))).stop_reason;
  process.stdout.write(JSON.stringify(seen));
}

main().catch((e) => { console.error(e); process.exit(1); });
