import type { Mount } from '#shared/platform/http/app.ts';
import { authRouter } from './auth-router.ts';
import { conversationsRouter } from './conversations-router.ts';
import type { PublicApiDeps } from './deps.ts';
import { friendsRouter } from './friends-router.ts';
import { groupsRouter } from './groups-router.ts';
import { usersRouter } from './users-router.ts';

/** The client HTTP API, described in openapi.yaml beside this file. */
export function publicApi(deps: PublicApiDeps): readonly Mount[] {
  return [
    { path: '/v1/auth', handler: authRouter(deps) },
    { path: '/v1/friends', handler: friendsRouter(deps) },
    { path: '/v1/conversations', handler: conversationsRouter(deps) },
    { path: '/v1/groups', handler: groupsRouter(deps) },
    { path: '/v1', handler: usersRouter(deps) },
  ];
}
