import { errors, type ProfileKeysAnswer, parseKeyRegistration } from '@sluice/contract'
import { declareKeys, KeyLimitExceeded, listKeys, TypeConflict } from '@sluice/profiles'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication } from '../authentication.ts'
import type { ApiContext } from '../context.ts'

const path = '/v1/profile_keys'

/** Adds the list and the registration of profile keys, which are extensions. A registration is all or nothing. */
export function profileKeyRoutes(api: FastifyInstance, context: ApiContext): void {
  const { db, settings } = context
  const onRequest = authentication(context)

  api.get(path, { onRequest }, async (request): Promise<ProfileKeysAnswer> => {
    return { profile_keys: await listKeys(db, appOf(request)) }
  })

  // A repetition after a crash has the same effect, so keys and response need not commit together.
  const config = {
    idempotency: { isRepeatable: true },
    audit: { nothing: 'keys have the time of their registration' },
  } as const
  api.post(path, { onRequest, config }, async (request, reply) => {
    const parsed = parseKeyRegistration(request.body)
    if ('messages' in parsed) return answer(reply, errors.badRequest(...parsed.messages))
    try {
      const registered = await declareKeys(db, appOf(request), parsed.keys, settings.PROFILE_KEY_LIMIT)
      return { profile_keys: registered } satisfies ProfileKeysAnswer
    } catch (error) {
      if (error instanceof TypeConflict) return answer(reply, errors.typeConflict(...error.messages))
      if (error instanceof KeyLimitExceeded) return answer(reply, errors.badRequest(error.message))
      throw error
    }
  })
}
