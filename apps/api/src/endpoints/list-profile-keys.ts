import { profileKeyList } from '@sluice/contract'
import { keyList } from '@sluice/profiles'
import { endpoint } from '../endpoint.ts'

const registered = { registered_at: '2026-03-01T09:00:05.120Z' }

export const exampleKeys = {
  profile_keys: [
    { key: 'born', type: 'datetime' as const, ...registered, enabled: true, description: 'Date of birth' },
    { key: 'zip', type: 'string' as const, ...registered, enabled: false, description: null },
  ],
}

/** Lists the profile keys of an app (second-day.md §1, Profile keys). */
export const listProfileKeys = endpoint({
  id: 'listProfileKeys',
  route: 'GET /v1/profile_keys',
  tag: 'Profiles',
  summary: 'List the profile keys',
  description: 'All profile keys of the app with their types, sorted by key. The limit counts the enabled ones.',
  extension: true,
  limit: { function: 'profile_keys', rate: '1000/60s', counts: 'Lists of profile keys' },
  answer: {
    status: 200,
    description: 'The keys.',
    schema: profileKeyList,
    example: { ...exampleKeys, limit: 500, enabled_keys: 1 },
  },
  serve:
    ({ db, settings }) =>
    async ({ appId }) =>
      await keyList(db, appId, settings.PROFILE_KEY_LIMIT),
})
