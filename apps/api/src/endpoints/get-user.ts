import { errors, userDocument } from '@sluice/contract'
import { showUserDocument } from '@sluice/deletions'
import { z } from 'zod'
import { answer } from '../answers.ts'
import { endpoint, refusal } from '../endpoint.ts'

/** Reads one user back (second-day.md §3, User). */
export const getUser = endpoint({
  id: 'getUser',
  route: 'GET /v1/users/{user_id}',
  tag: 'Profiles',
  summary: 'One user',
  description: 'A registered user with every profile value, and the pending deletion if there is one.',
  extension: true,
  limit: { function: 'user', rate: '1000/60s', counts: 'Users read' },
  params: { user_id: z.string().meta({ description: 'The user ID, percent-encoded.', example: 'alice' }) },
  answer: {
    status: 200,
    description: 'The user.',
    schema: userDocument,
    example: {
      user_id: 'alice',
      profiles: {
        age: { type: 'int', value: 34 },
        last_visit: { type: 'datetime', value: '2026-03-01 09:30:00.000' },
      },
      campaign_target: true,
      deletion: null,
    },
  },
  refusals: [refusal('unknown', 'The user is not registered.', errors.notFound())],
  serve:
    ({ db }) =>
    async ({ appId, params, reply }) => {
      return (await showUserDocument(db, appId, params.user_id)) ?? answer(reply, errors.notFound())
    },
})
