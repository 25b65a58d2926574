import { profileKeysAnswer } from '@sluice/contract'
import { listKeys } from '@sluice/profiles'
import { endpoint } from '../endpoint.ts'

/** Two keys, for examples. */
export const exampleKeys = {
  profile_keys: [
    { key: 'born', type: 'datetime' as const, registered_at: '2026-03-01T09:00:05.120Z' },
    { key: 'zip', type: 'string' as const, registered_at: '2026-03-01T09:00:05.120Z' },
  ],
}

/** Lists the profile keys of an app (second-day.md §1, Profile keys). */
export const listProfileKeys = endpoint({
  id: 'listProfileKeys',
  route: 'GET /v1/profile_keys',
  tag: 'Profiles',
  summary: 'List the profile keys',
  description: 'All profile keys of the app with their types, sorted by key.',
  extension: true,
  limit: { function: 'profile_keys', rate: '1000/60s', counts: 'Lists of profile keys' },
  answer: { status: 200, description: 'The keys.', schema: profileKeysAnswer, example: exampleKeys },
  serve:
    ({ db }) =>
    async ({ appId }) => ({ profile_keys: await listKeys(db, appId) }),
})
