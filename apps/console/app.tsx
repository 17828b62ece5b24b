// What surrounds every view: language, data, addresses.
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { queries } from './api/queries.js';
import { LanguageProvider } from './i18n/language.js';
import { router } from './router.js';

export function App() {
  return (
    <LanguageProvider>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </LanguageProvider>
  );
}
