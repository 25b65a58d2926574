import { errors, type ProfileUpdateAnswer, parseProfileUpdate } from '@sluice/contract'
import { checkEntries, joinedProfileUpdates, KeyLimitExceeded, TypeConflict, UnregisteredUser } from '@sluice/profiles'
import type { FastifyInstance } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication } from '../authentication.ts'
import type { ApiContext } from '../context.ts'

/** Adds the update of one user's profile (service.md, Endpoints, 2). The update is committed before the answer. */
export function profileUpdateRoutes(api: FastifyInstance, context: ApiContext): void {
  const { db, settings } = context
  const onRequest = authentication(context)
  const updateProfile = joinedProfileUpdates(db, settings.PROFILE_KEY_LIMIT)
  const config = {
    malformedJson: errors.profileUpdateNotJson,
    keepsNumbers: true,
    audit: { nothing: 'a change of profile values' },
  }

  api.post('/v2/user_profiles', { onRequest, config }, async (request, reply) => {
    const parsed = parseProfileUpdate(request.body)
    if ('messages' in parsed) return answer(reply, errors.malformedProfileUpdate(...parsed.messages))
    const { userId } = parsed.request
    const checked = checkEntries(parsed.request.entries)
    if ('messages' in checked) return answer(reply, errors.invalidProfile(...checked.messages))
    try {
      await updateProfile(appOf(request), userId, checked.entries)
    } catch (error) {
      if (error instanceof UnregisteredUser) return answer(reply, errors.unregisteredUser())
      if (error instanceof TypeConflict) return answer(reply, errors.invalidProfile(...error.messages))
      if (error instanceof KeyLimitExceeded) return answer(reply, errors.invalidProfile(error.message))
      throw error
    }
    const applied: ProfileUpdateAnswer = { user_id: userId, user_profiles: checked.entries }
    return reply.code(202).send(applied)
  })
}
