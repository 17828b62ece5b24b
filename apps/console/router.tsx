// The addresses of the page, made from the table of views. Filters are the search part of an address, named as the API names
// them; they stay texts.
import { createRootRoute, createRoute, createRouter } from '@tanstack/react-router';
import { consolePath } from './api/addresses.js';
import { NotFound } from './frame/not-found.js';
import { Shell } from './frame/shell.js';
import { ViewFrame } from './frame/view-frame.js';
import { builtViews } from './views.js';

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const routes = builtViews.map((view) =>
  createRoute({
    getParentRoute: () => root,
    path: view.path,
    // The view before stays until the code of the next is there.
    loader: view.load,
    staleTime: Infinity,
    component: () => <ViewFrame key={view.name} view={view} />,
  }),
);

export const router = createRouter({
  routeTree: root.addChildren(routes),
  basepath: consolePath,
  parseSearch: (search) => Object.fromEntries(new URLSearchParams(search)),
  stringifySearch: (filters) => {
    const given = Object.entries(filters).flatMap(([name, value]) =>
      value === undefined || value === null || value === '' ? [] : [[name, String(value)]],
    );
    return given.length === 0 ? '' : `?${new URLSearchParams(given).toString()}`;
  },
  scrollRestoration: true,
});
