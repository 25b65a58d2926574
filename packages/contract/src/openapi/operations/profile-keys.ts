import { errors } from '../../errors.ts'
import { fileMessages } from '../../import-messages.ts'
import { limits } from '../../limits.ts'
import { parseKeyRegistration } from '../../profile-keys.ts'
import type { ProfileKeysAnswer } from '../../wire-types.ts'
import type { PathItem } from '../document-types.ts'
import { acceptsKey } from '../idempotency.ts'
import { type ErrorCase, json, jsonBodyErrors, success, tokenResponses } from '../responses.ts'

const registered: ProfileKeysAnswer = {
  profile_keys: [
    { key: 'born', type: 'datetime', registered_at: '2026-03-01T09:00:05.120Z' },
    { key: 'zip', type: 'string', registered_at: '2026-03-01T09:00:05.120Z' },
  ],
}

const zip = { key: 'zip', type: 'string' }
const wanted = [zip, { key: 'born', type: 'datetime' }]

/** Returns the case of an invalid request, with the messages of the real check. */
function refused(name: string, when: string, body: unknown): ErrorCase {
  const parsed = parseKeyRegistration(body)
  return { name, when, answer: errors.badRequest(...('messages' in parsed ? parsed.messages : [])) }
}

const tooMany = Array.from({ length: limits.keysPerRequest + 1 }, () => zip)

const cases: ErrorCase[] = [
  refused('no_list', 'There is no list of keys.', {}),
  refused('empty_list', 'The list is empty.', { profile_keys: [] }),
  refused('long_list', 'The list is too long.', { profile_keys: tooMany }),
  refused('type', 'A type is not known.', { profile_keys: [{ key: 'zip', type: 'text' }] }),
  refused('key', 'A key is not valid.', { profile_keys: [{ key: '', type: 'string' }] }),
  refused('reserved', 'A key is a reserved name.', { profile_keys: [{ key: 'user_id', type: 'string' }] }),
  refused('two_types', 'A key has two types.', { profile_keys: [zip, { key: 'zip', type: 'int' }] }),
  refused('no_object', 'The body is not a JSON object.', []),
  { name: 'not_json', when: 'The body is not JSON.', answer: errors.malformedJson() },
  {
    name: 'too_many_keys',
    when: 'The app would have more keys than its limit.',
    answer: errors.badRequest(fileMessages.tooManyKeys(500)),
  },
  {
    name: 'registered_type',
    when: 'Keys are registered with another type. There is a message for each.',
    answer: errors.typeConflict(fileMessages.otherType('age', 'int')),
  },
]

/** `/v1/profile_keys`. */
export const profileKeysPath: PathItem = {
  get: {
    operationId: 'listProfileKeys',
    tags: ['Profiles'],
    summary: 'List the profile keys',
    description: 'Extension of Sluice. All profile keys of the app with their types, sorted by key.',
    'x-sluice-extension': true,
    security: [{ token: [] }],
    responses: tokenResponses({ 200: success('The keys.', json('ProfileKeys', registered)) }),
  },
  post: acceptsKey({
    operationId: 'registerProfileKeys',
    tags: ['Profiles'],
    summary: 'Register profile keys',
    description: [
      `Extension of Sluice. Registers up to ${limits.keysPerRequest} keys with their types, so that no import has to infer them. A registered type is`,
      'final. Keys that already have the wanted type stay unchanged, so the request can be repeated. All keys are registered, or',
      'none. The answer has the keys of the request, sorted.',
    ].join('\n'),
    'x-sluice-extension': true,
    security: [{ token: [] }],
    requestBody: {
      required: true,
      description: 'The keys with their types.',
      content: json('ProfileKeyRegistration', { profile_keys: wanted }),
    },
    responses: tokenResponses({ 200: success('All are registered.', json('ProfileKeys', registered)) }, [
      ...cases,
      ...jsonBodyErrors(limits.jsonBytes),
    ]),
  }),
}
